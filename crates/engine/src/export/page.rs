//! `demo.html`: one page with the video, the steps, and for each what was chosen and why. It holds
//! everything but the video itself and loads nothing from elsewhere.

use std::collections::BTreeMap;
use std::path::Path;

use stitch_core::format::clock;

use super::credits::{self, Credit};
use super::thumbnails::{Thumbnails, alternatives, data_url};
use super::{Export, ExportError, Format};
use crate::demonstrate::{Choice, Elsewhere, Step};
use crate::render::Shown;

const STYLE: &str = include_str!("../../assets/page/page.css");
const SCRIPT: &str = include_str!("../../assets/page/page.js");

pub(super) const FORMAT: Format = Format {
    name: "html",
    extension: "html",
    media_type: "text/html; charset=utf-8",
    about: "one page with video, steps, sources and alternatives",
    write,
};

/// What the parts of the page are made of.
struct Page<'a> {
    export: &'a Export<'a>,
    thumbnails: Thumbnails,
    /// The colour of each source, in degrees.
    hues: BTreeMap<&'a Path, u32>,
}

fn write(export: &Export) -> Result<String, ExportError> {
    let thumbnails = Thumbnails::gather(export.demonstration, export.cache, export.progress)?;
    let credits = credits::credits(export);
    let page = Page { export, thumbnails, hues: hues(&credits) };
    Ok(html(&page, &credits))
}

fn html(page: &Page, credits: &[Credit]) -> String {
    let export = page.export;
    let title = match export.demonstration.title.trim() {
        "" => "Demonstration",
        title => title,
    };
    let steps = export.demonstration.steps.iter().enumerate();
    let steps: String = steps.map(|(i, step)| self::step(page, i, step)).collect();
    format!(
        "<!doctype html>\n<html lang=\"en\">\n<head>\n<meta charset=\"utf-8\">\n\
         <meta name=\"viewport\" content=\"width=device-width, initial-scale=1\">\n\
         <title>{title}</title>\n<link rel=\"icon\" href=\"data:,\">\n<style>\n{STYLE}</style>\n\
         </head>\n<body>\n<div class=\"wrap\">\n\
         <header>\n<h1>{title}</h1>\n{summary}</header>\n\
         <main>\n<div class=\"stage\">\n{stage}</div>\n<ol class=\"steps\">\n{steps}</ol>\n</main>\n\
         {credits}{footer}</div>\n<script>\n{SCRIPT}</script>\n</body>\n</html>\n",
        title = escape(title),
        summary = summary(export, credits.len()),
        stage = stage(page),
        credits = credit_list(credits, &page.hues),
        footer = footer(export),
    )
}

/// A colour for every source, far from those before it.
fn hues<'a>(credits: &[Credit<'a>]) -> BTreeMap<&'a Path, u32> {
    let hue = |i: usize| (30 + 137 * i as u32) % 360;
    credits.iter().enumerate().map(|(i, c)| (c.source.path.as_path(), hue(i))).collect()
}

fn summary(export: &Export, sources: usize) -> String {
    let count =
        |n: usize, one: &str| format!("<li><b>{n}</b> {one}{}</li>", if n == 1 { "" } else { "s" });
    let demonstration = export.demonstration;
    let gaps = match demonstration.gaps().count() {
        0 => "<li>every step is shown</li>".to_owned(),
        n => format!(
            "<li class=\"missing\"><b>{n}</b> {} that nothing shows</li>",
            if n == 1 { "step" } else { "steps" }
        ),
    };
    format!(
        "<ul class=\"summary\">{}{}{}{gaps}<li>{}</li></ul>\n",
        count(demonstration.steps.len(), "step"),
        count(sources, "source"),
        count(demonstration.source_changes, "source change"),
        clock(export.plan.ms(export.plan.frames()), 0)
    )
}

fn stage(page: &Page) -> String {
    let (export, plan) = (page.export, page.export.plan);
    let part = |entry: &crate::render::Entry| {
        let step = entry.shown.step();
        let label = step.map_or("Title".into(), |i| format!("{}. {}", i + 1, export.text(i)));
        let hue = step.and_then(|i| export.chosen(i)).and_then(|c| page.hues.get(&*c.source.path));
        let class = if matches!(entry.shown, Shown::Clip(_)) { "" } else { " class=\"gap\"" };
        format!(
            "<button type=\"button\"{class} style=\"--hue:{};flex-grow:{}\" data-start=\"{}\" \
             data-end=\"{}\" title=\"{label}\" aria-label=\"{label}\"></button>",
            hue.unwrap_or(&0),
            entry.end() - entry.start,
            plan.ms(entry.start),
            plan.ms(entry.end()),
            label = escape(&label),
        )
    };
    format!(
        "<video controls playsinline preload=\"metadata\"{} width=\"{}\" height=\"{}\" \
         style=\"height:auto\" src=\"{}\"></video>\n\
         <p class=\"absent\">The video {} is not beside this page.</p>\n\
         <div class=\"strip\">{}</div>\n<p class=\"now\" aria-live=\"polite\"></p>\n",
        poster(page),
        plan.canvas.width,
        plan.canvas.height,
        relative_url(export.video),
        escape(export.video),
        plan.entries.iter().map(part).collect::<String>(),
    )
}

/// A picture to look at before the video plays: the first clip's.
fn poster(page: &Page) -> String {
    let mut chosen = page.export.demonstration.steps.iter().filter_map(|step| step.chosen.as_ref());
    let picture = chosen.find_map(|choice| page.thumbnails.get(choice));
    picture.map_or(String::new(), |jpeg| format!(" poster=\"{}\"", data_url(jpeg)))
}

fn step(page: &Page, i: usize, step: &Step) -> String {
    let times = page.export.plan.step_ms(i);
    let attributes = times.map_or(String::new(), |(start, end)| {
        format!(" data-start=\"{start}\" data-end=\"{end}\"")
    });
    let class = if step.chosen.is_some() { "step" } else { "step gap" };
    let at = times.map(|(start, _)| start);
    let shot = step.chosen.as_ref().map_or(String::new(), |choice| shot(page, choice, at));
    let why = match &step.chosen {
        Some(choice) => why(choice, step.join, &page.hues),
        None => "<div class=\"why\"><p class=\"note\">Nothing in this library shows this step.</p>\
                 </div>\n"
            .to_owned(),
    };
    let heading = format!(
        "{shot}<span><span class=\"number\">Step {}</span><span class=\"text\">{}</span></span>",
        i + 1,
        escape(&step.text)
    );
    let heading = match times {
        Some(_) => format!("<button type=\"button\" class=\"seek\">{heading}</button>"),
        None => format!("<div class=\"seek\" style=\"cursor:default\">{heading}</div>"),
    };
    format!(
        "<li class=\"{class}\" id=\"step-{}\"{attributes}>\n{heading}\n{why}{}</li>\n",
        i + 1,
        others(page, step)
    )
}

/// A picture of a clip, with its time in the result where it has one.
fn shot(page: &Page, choice: &Choice, at: Option<u64>) -> String {
    let picture = page.thumbnails.get(choice).map_or(String::new(), |jpeg| {
        format!("<img alt=\"\" loading=\"lazy\" src=\"{}\">", data_url(jpeg))
    });
    let time = at.map_or(String::new(), |ms| format!("<time>{}</time>", clock(ms, 0)));
    format!("<span class=\"shot\" style=\"display:block\">{picture}{time}</span>")
}

/// Where a clip is from, what is said in it, how well it fits its step and what is before it.
fn why(choice: &Choice, join: Option<f32>, hues: &BTreeMap<&Path, u32>) -> String {
    let source = &choice.source;
    let hue = hues.get(source.path.as_path()).unwrap_or(&0);
    let cut = format!("{}\u{2013}{}", clock(choice.cut.start_ms, 1), clock(choice.cut.end_ms, 1));
    let speed = match choice.speed {
        1.0 => String::new(),
        speed => format!(", at {speed:.2}\u{d7} speed"),
    };
    let said = match choice.narration.trim() {
        "" => String::new(),
        said => format!("<blockquote>{}</blockquote>", escape(said)),
    };
    format!(
        "<div class=\"why\"><p><span class=\"dot\" style=\"--hue:{hue}\"></span>\
         <span class=\"source\">{}</span> <span>{cut}{speed}</span></p>{said}\
         <div class=\"fit\">{}<span>{} likely to show it{}</span></div>{}</div>\n",
        escape(&source.title),
        meter(choice),
        percent(choice.similarity.probability),
        join.map_or(String::new(), |alike| format!(
            "; {} like the picture before it",
            percent(alike)
        )),
        copies(choice)
    )
}

fn copies(choice: &Choice) -> String {
    let place =
        |copy: &Elsewhere| format!("{} at {}", escape(&copy.title), clock(copy.start_ms, 1));
    match choice.copies.iter().map(place).collect::<Vec<_>>().join(", ") {
        none if none.is_empty() => none,
        places => format!("<p>The same footage: {places}</p>"),
    }
}

fn others(page: &Page, step: &Step) -> String {
    let other = |choice: &Choice| {
        format!(
            "<li>{}<span class=\"name\">{}</span>{} \u{b7} {}{}</li>",
            shot(page, choice, None),
            escape(&choice.source.title),
            clock(choice.cut.start_ms, 1),
            percent(choice.similarity.probability),
            meter(choice)
        )
    };
    let items: String = alternatives(step).map(other).collect();
    if items.is_empty() {
        return items;
    }
    let heading = if step.chosen.is_some() { "Runners-up" } else { "Nearest, but not near enough" };
    format!("<div class=\"others\"><h3>{heading}</h3><ul>{items}</ul></div>\n")
}

fn meter(choice: &Choice) -> String {
    let share = f64::from(choice.similarity.probability).clamp(0.0, 1.0) * 100.0;
    format!("<div class=\"meter\" aria-hidden=\"true\"><i style=\"width:{share:.0}%\"></i></div>")
}

fn percent(similarity: f32) -> String {
    format!("{:.0}\u{202f}%", f64::from(similarity).clamp(-1.0, 1.0) * 100.0)
}

fn credit_list(credits: &[Credit], hues: &BTreeMap<&Path, u32>) -> String {
    if credits.is_empty() {
        return String::new();
    }
    let items: String = credits.iter().map(|credit| credit_item(credit, hues)).collect();
    format!("<section class=\"credits\">\n<h2>Credits</h2>\n<ul>{items}</ul>\n</section>\n")
}

fn credit_item(credit: &Credit, hues: &BTreeMap<&Path, u32>) -> String {
    let source = credit.source;
    let hue = hues.get(source.path.as_path()).unwrap_or(&0);
    let by = source.uploader.as_ref().map_or(String::new(), |who| format!("by {}, ", escape(who)));
    let licence = match &source.licence {
        Some(licence) => format!("licence {}", escape(licence)),
        None => "no licence stated".to_owned(),
    };
    let link = match source.url.as_deref().filter(|url| is_web(url)) {
        Some(url) => {
            format!(", <a href=\"{}\" rel=\"noopener noreferrer\">original</a>", escape(url))
        }
        None => String::new(),
    };
    format!(
        "<li><b><span class=\"dot\" style=\"--hue:{hue}\"></span>{}</b>{by}{licence}{link}; {}</li>",
        escape(&source.title),
        credits::steps(credit)
    )
}

/// Only addresses on the web become links: `javascript:` is one too.
fn is_web(url: &str) -> bool {
    url.starts_with("https://") || url.starts_with("http://")
}

fn footer(export: &Export) -> String {
    let demonstration = export.demonstration;
    let model = |(role, hash): (&String, &String)| {
        let short: String = hash.chars().take(12).collect();
        format!("{} <code>{}</code>", escape(role), escape(&short))
    };
    let models: Vec<String> = demonstration.models.iter().map(model).collect();
    let models = if models.is_empty() { "none".into() } else { models.join(", ") };
    format!(
        "<footer><p>Chosen from {} candidate sequences by {} (score {:.3}), seed {}.</p>\
         <p>Models: {models}. Made with stitch.</p></footer>\n",
        demonstration.candidates,
        escape(&demonstration.scorer),
        demonstration.score,
        demonstration.seed
    )
}

fn escape(text: &str) -> String {
    let mut escaped = String::with_capacity(text.len());
    for letter in text.chars() {
        match letter {
            '&' => escaped.push_str("&amp;"),
            '<' => escaped.push_str("&lt;"),
            '>' => escaped.push_str("&gt;"),
            '"' => escaped.push_str("&quot;"),
            '\'' => escaped.push_str("&#39;"),
            c => escaped.push(c),
        }
    }
    escaped
}

fn relative_url(name: &str) -> String {
    let mut url = String::from("./");
    for byte in name.bytes() {
        match byte {
            b'a'..=b'z' | b'A'..=b'Z' | b'0'..=b'9' | b'-' | b'_' | b'.' | b'~' => {
                url.push(char::from(byte));
            }
            other => url.push_str(&format!("%{other:02X}")),
        }
    }
    url
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn texts_and_names_cannot_become_markup() {
        assert_eq!(escape("<script>'\"&"), "&lt;script&gt;&#39;&quot;&amp;");
        assert_eq!(relative_url("a b\"#?%.mp4"), "./a%20b%22%23%3F%25.mp4");
        assert!(!is_web("javascript:alert(1)") && is_web("https://a.example"));
    }
}
