//! `demo.html`: one page with the video, the steps, and for each what was chosen and why. It contains
//! everything but the video itself and loads nothing from elsewhere.

use std::collections::BTreeMap;
use std::path::Path;

use base64::prelude::{BASE64_STANDARD, Engine};
use maud::{Markup, PreEscaped, html};
use stitch_core::format::clock;

use super::credits::{self, Credit};
use super::thumbnails::{Thumbnails, alternatives};
use super::{Export, ExportError, url_path};
use crate::demonstrate::{Choice, Step};
use crate::render::{Entry, Shown};

const STYLE: &str = include_str!("../../assets/page/page.css");
const SCRIPT: &str = include_str!("../../assets/page/page.js");

struct Page<'a> {
    export: &'a Export<'a>,
    thumbnails: Thumbnails,
    /// The colour of each source, in degrees.
    hues: BTreeMap<&'a Path, u32>,
}

pub(super) fn write(export: &Export) -> Result<String, ExportError> {
    let thumbnails = Thumbnails::gather(export.demonstration, export.cache, export.progress)?;
    let credits = credits::credits(export);
    let page = Page { export, thumbnails, hues: hues(&credits) };
    Ok(page.html(&credits).into_string())
}

/// A hue for every source, far from those before it.
fn hues<'a>(credits: &[Credit<'a>]) -> BTreeMap<&'a Path, u32> {
    let hue = |i: usize| (30 + 137 * i as u32) % 360;
    credits.iter().enumerate().map(|(i, c)| (c.source.path.as_path(), hue(i))).collect()
}

impl Page<'_> {
    fn html(&self, credits: &[Credit]) -> Markup {
        let demonstration = self.export.demonstration;
        let title = match demonstration.title.trim() {
            "" => "Demonstration",
            title => title,
        };
        html! {
            (PreEscaped("<!doctype html>"))
            html lang="en" {
                head {
                    meta charset="utf-8";
                    meta name="viewport" content="width=device-width, initial-scale=1";
                    title { (title) }
                    link rel="icon" href="data:,";
                    style { (PreEscaped(STYLE)) }
                }
                body {
                    div.wrap {
                        header { h1 { (title) } (self.summary(credits.len())) }
                        main {
                            div.stage { (self.player()) }
                            ol.steps {
                                @for (i, step) in demonstration.steps.iter().enumerate() {
                                    (self.step(i, step))
                                }
                            }
                        }
                        @if !credits.is_empty() {
                            section.credits {
                                h2 { "Credits" }
                                ul { @for credit in credits { (self.credit(credit)) } }
                            }
                        }
                        (self.footer())
                    }
                    script { (PreEscaped(SCRIPT)) }
                }
            }
        }
    }

    fn hue(&self, path: &Path) -> u32 {
        self.hues.get(path).copied().unwrap_or(0)
    }

    fn summary(&self, sources: usize) -> Markup {
        let demonstration = self.export.demonstration;
        let plan = self.export.plan;
        let counted = |n: usize, noun: &str, note: &str| {
            html! { b { (n) } " " (noun) @if n != 1 { "s" } (note) }
        };
        html! {
            ul.summary {
                li { (counted(demonstration.steps.len(), "step", "")) }
                li { (counted(sources, "source", "")) }
                li { (counted(demonstration.source_changes, "source change", "")) }
                @match demonstration.gaps().count() {
                    0 => { li { "every step is shown" } }
                    n => { li.missing { (counted(n, "step", " that nothing shows")) } }
                }
                li { (clock(plan.ms(plan.frames()), 0)) }
            }
        }
    }

    /// The video and the strip of clips below it.
    fn player(&self) -> Markup {
        let (export, plan) = (self.export, self.export.plan);
        let mut cuts = export.demonstration.cuts();
        let poster = cuts.find_map(|(_, choice)| self.thumbnails.get(choice)).map(data_url);
        html! {
            video controls playsinline preload="metadata" poster=[poster]
                width=(plan.canvas.width) height=(plan.canvas.height) style="height:auto"
                src={ "./" (url_path(export.video.as_bytes())) } {}
            p.absent { "The video " (export.video) " is not beside this page." }
            div.strip { @for entry in &plan.entries { (self.strip_part(entry)) } }
            p.now aria-live="polite" {}
        }
    }

    fn strip_part(&self, entry: &Entry) -> Markup {
        let (export, plan, step) = (self.export, self.export.plan, entry.shown.step());
        let label =
            step.map_or("Title".into(), |i| format!("{}. {}", i + 1, export.demonstration.text(i)));
        let hue = export.clip(entry).map_or(0, |choice| self.hue(&choice.source.path));
        html! {
            button.gap[!matches!(entry.shown, Shown::Clip { .. })] type="button"
                style={ "--hue:" (hue) ";flex-grow:" (entry.end() - entry.start) }
                data-start=(plan.ms(entry.start)) data-end=(plan.ms(entry.end()))
                title=(label) aria-label=(label) {}
        }
    }

    fn step(&self, i: usize, step: &Step) -> Markup {
        let (start, end) = self.export.plan.step_ms(i).unzip();
        let clips = step.clips();
        let heading = html! {
            @if let Some(choice) = clips.first() { (self.shot(choice, start)) }
            span { span.number { "Step " (i + 1) } span.text { (step.text) } }
        };
        html! {
            li.step.gap[step.chosen.is_none()] id={ "step-" (i + 1) }
                data-start=[start] data-end=[end] {
                @match start {
                    Some(_) => { button.seek type="button" { (heading) } }
                    None => { div.seek style="cursor:default" { (heading) } }
                }
                @for (place, choice) in clips.iter().enumerate() {
                    (self.why(choice, step.join.filter(|_| place == 0)))
                }
                @if clips.is_empty() {
                    div.why { p.note { "Nothing in this library shows this step." } }
                }
                @if let Some(told) = step.partly_shown() { div.why { p.note { (told) } } }
                @if let Some(told) = &step.state_note { div.why { p.note { (told) } } }
                (self.others(step))
            }
        }
    }

    /// A picture of a clip, with its time in the result where it has one.
    fn shot(&self, choice: &Choice, at: Option<u64>) -> Markup {
        html! {
            span.shot style="display:block" {
                @if let Some(jpeg) = self.thumbnails.get(choice) {
                    img alt="" loading="lazy" src=(data_url(jpeg));
                }
                @if let Some(ms) = at { time { (clock(ms, 0)) } }
            }
        }
    }

    /// Where a clip is from, what is said in it, how well it fits its step and what is before it.
    fn why(&self, choice: &Choice, join: Option<f32>) -> Markup {
        let (source, cut) = (&choice.source, choice.cut);
        html! {
            div.why {
                p {
                    span.dot style={ "--hue:" (self.hue(&source.path)) } {}
                    span.source { (source.title) }
                    " "
                    span {
                        (clock(cut.start_ms, 1)) "\u{2013}" (clock(cut.end_ms, 1))
                        @if choice.speed != 1.0 {
                            ", at " (format!("{:.2}", choice.speed)) "\u{d7} speed"
                        }
                    }
                }
                @if !choice.narration.trim().is_empty() {
                    blockquote { (choice.narration.trim()) }
                }
                div.fit {
                    (meter(choice))
                    span {
                        (percent(choice.similarity.probability)) " likely to show it"
                        @if let Some(alike) = join {
                            "; " (percent(alike)) " like the picture before it"
                        }
                    }
                }
                @if !choice.copies.is_empty() { p { "The same footage: " (copies(choice)) } }
            }
        }
    }

    fn others(&self, step: &Step) -> Markup {
        let gap = step.chosen.is_none();
        let heading = if gap { "Nearest, but not near enough" } else { "Runners-up" };
        html! {
            @if alternatives(step).next().is_some() {
                div.others {
                    h3 { (heading) }
                    ul {
                        @for choice in alternatives(step) {
                            li {
                                (self.shot(choice, None))
                                span.name { (choice.source.title) }
                                (clock(choice.cut.start_ms, 1)) " \u{b7} "
                                (percent(choice.similarity.probability))
                                (meter(choice))
                            }
                        }
                    }
                }
            }
        }
    }

    fn credit(&self, credit: &Credit) -> Markup {
        let source = credit.source;
        // Only web addresses become links: `javascript:` is an address too.
        let web = |url: &&str| url.starts_with("https://") || url.starts_with("http://");
        html! {
            li {
                b { span.dot style={ "--hue:" (self.hue(&source.path)) } {} (source.title) }
                @if let Some(uploader) = &source.uploader { "by " (uploader) ", " }
                @match &source.licence {
                    Some(licence) => { "licence " (licence) }
                    None => { "no licence stated" }
                }
                @if let Some(url) = source.url.as_deref().filter(web) {
                    ", " a href=(url) rel="noopener noreferrer" { "original" }
                }
                "; " (credits::steps(credit))
            }
        }
    }

    fn footer(&self) -> Markup {
        let demonstration = self.export.demonstration;
        html! {
            footer {
                p {
                    "Chosen from " (demonstration.candidates) " candidate sequences by "
                    (demonstration.scorer) " (score " (format!("{:.3}", demonstration.score))
                    "), seed " (demonstration.seed) "."
                }
                p {
                    "Models: "
                    @for (i, (role, hash)) in demonstration.models.iter().enumerate() {
                        @if i > 0 { ", " }
                        (role) " " code { (hash.chars().take(12).collect::<String>()) }
                    }
                    @if demonstration.models.is_empty() { "none" }
                    ". Made with stitch."
                }
            }
        }
    }
}

/// Where else the library has the same footage.
fn copies(choice: &Choice) -> String {
    let places = choice.copies.iter();
    let places = places.map(|copy| format!("{} at {}", copy.title, clock(copy.start_ms, 1)));
    places.collect::<Vec<_>>().join(", ")
}

fn meter(choice: &Choice) -> Markup {
    let percent = f64::from(choice.similarity.probability).clamp(0.0, 1.0) * 100.0;
    html! {
        div.meter aria-hidden="true" { i style={ "width:" (format!("{percent:.0}")) "%" } {} }
    }
}

fn percent(similarity: f32) -> String {
    format!("{:.0}\u{202f}%", f64::from(similarity).clamp(-1.0, 1.0) * 100.0)
}

fn data_url(jpeg: &[u8]) -> String {
    format!("data:image/jpeg;base64,{}", BASE64_STANDARD.encode(jpeg))
}
