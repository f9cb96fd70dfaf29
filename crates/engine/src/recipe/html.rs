//! A recipe page: its JSON-LD, else its microdata, else the list under a heading that names the
//! method.

use html5ever::driver::parse_document;
use html5ever::tendril::TendrilSink;
use scraper::{ElementRef, Html, HtmlTreeSink, Selector};
use serde_json::Value;

use super::json;
use super::outline::{Block, Draft, Topic, draft, topic};
use crate::transcript::text::fold;

/// The procedure on a page; none if nothing on it is one.
pub fn page(text: &str) -> Option<Draft> {
    let page = parse(text)?;
    let found = linked_data(&page).or_else(|| microdata(&page)).or_else(|| headed(&page))?;
    let title = if found.title.is_empty() { title(&page) } else { found.title };
    Some(Draft { title, steps: found.steps })
}

/// How deep a page may nest: deeper than any that a person reads.
const MAX_DEPTH: usize = 300;
/// Bytes that are parsed between two looks at the depth.
const CHUNK_BYTES: usize = 1024;

/// The page; none if it nests too deep. The HTML standard's algorithm takes time by the product of size and depth,
/// so the parser is stopped at the first node that is too deep, whichever tags are closed or not.
fn parse(text: &str) -> Option<Html> {
    let sink = HtmlTreeSink::new(Html::new_document());
    let mut parser = parse_document(sink, Default::default());
    let (mut rest, mut seen) = (text, 0);
    while !rest.is_empty() {
        let (chunk, after) = rest.split_at(rest.ceil_char_boundary(CHUNK_BYTES));
        rest = after;
        parser.process(chunk.into());
        let page = parser.tokenizer.sink.sink.0.borrow();
        let new = page.tree.nodes().len() - seen;
        let mut nodes = page.tree.nodes().rev().take(new);
        if nodes.any(|node| node.ancestors().nth(MAX_DEPTH).is_some()) {
            return None;
        }
        seen += new;
    }
    Some(parser.finish())
}

fn all<'a>(page: &'a Html, selector: &str) -> Vec<ElementRef<'a>> {
    let Ok(selector) = Selector::parse(selector) else { return Vec::new() };
    page.select(&selector).collect()
}

/// Those of the elements, given in reading order, that lie in no other: the text of one is read once.
fn outermost<'a>(elements: impl IntoIterator<Item = ElementRef<'a>>) -> Vec<ElementRef<'a>> {
    let mut outer: Vec<ElementRef> = Vec::new();
    for element in elements {
        let holds = |last: &ElementRef| element.ancestors().any(|above| above.id() == last.id());
        if !outer.last().is_some_and(holds) {
            outer.push(element);
        }
    }
    outer
}

fn linked_data(page: &Html) -> Option<Draft> {
    let scripts = all(page, "script[type*='ld+json' i]");
    scripts.iter().find_map(|script| {
        let value = lenient(&script.text().collect::<String>())?;
        let list = json::steps(&value).ok()??;
        let steps: Vec<String> = list.steps.into_iter().map(|step| step.text).collect();
        Some(Draft { title: list.title, steps })
    })
}

/// JSON as pages have it: in a comment or CDATA, with line breaks inside strings.
fn lenient(text: &str) -> Option<Value> {
    let from = text.find(['{', '['])?;
    let to = text.rfind(['}', ']'])?;
    let text = text.get(from..=to)?;
    let folded = || text.replace(|c: char| c.is_control(), " ");
    serde_json::from_str(text).or_else(|_| serde_json::from_str(&folded())).ok()
}

fn microdata(page: &Html) -> Option<Draft> {
    let parts = outermost(all(page, "[itemprop~='recipeInstructions'], [itemprop~='step']"));
    let mut steps: Vec<String> = parts.into_iter().flat_map(parts_of).collect();
    steps.dedup();
    let name =
        all(page, "[itemtype*='Recipe'] [itemprop='name'], [itemtype*='HowTo'] [itemprop='name']");
    let title = name.first().map_or_else(String::new, |name| text_of(*name));
    (!steps.is_empty()).then_some(Draft { title, steps })
}

/// The items or paragraphs of an element, or its whole text.
fn parts_of(element: ElementRef) -> Vec<String> {
    for selector in ["li", "p"] {
        let Ok(parts) = Selector::parse(selector) else { continue };
        let items = outermost(element.select(&parts)).into_iter().map(text_of);
        let texts: Vec<String> = items.filter(|text| !text.is_empty()).collect();
        if !texts.is_empty() {
            return texts;
        }
    }
    let inner: String = element.text().collect::<Vec<_>>().join("\n");
    let lines: Vec<String> = inner.lines().map(fold).filter(|line| !line.is_empty()).collect();
    lines
}

fn text_of(element: ElementRef) -> String {
    fold(&element.text().collect::<Vec<_>>().join(" ")).replace(" .", ".").replace(" ,", ",")
}

/// The list under a heading that names the method; without such a heading the longest numbered
/// list, if it is the only candidate worth the name.
fn headed(page: &Html) -> Option<Draft> {
    let blocks = blocks(page);
    let is_method =
        |b: &Block| matches!(b, Block::Heading(_, text) if topic(text) == Topic::Method);
    if blocks.iter().any(is_method) {
        let found = draft(&blocks);
        return (!found.steps.is_empty()).then_some(found);
    }
    let lists = all(page, "ol").into_iter().map(parts_of);
    let longest = lists.max_by_key(Vec::len).filter(|steps| steps.len() >= 3)?;
    Some(Draft { title: String::new(), steps: longest })
}

/// The page's headings, list items and paragraphs in reading order, without what frames it.
fn blocks(page: &Html) -> Vec<Block> {
    all(page, "h1, h2, h3, h4, h5, h6, li, p").into_iter().filter_map(block).collect()
}

const FRAME: [&str; 8] =
    ["nav", "footer", "aside", "script", "style", "form", "noscript", "template"];

/// The block that an element is.
fn block(element: ElementRef) -> Option<Block> {
    let inside = |names: &[&str]| {
        let mut above = element.ancestors().filter_map(ElementRef::wrap);
        above.any(|parent| names.contains(&parent.value().name()))
    };
    if inside(&FRAME) {
        return None;
    }
    let name = element.value().name();
    let text = || Some(text_of(element)).filter(|text| !text.is_empty());
    match name {
        "h1" | "h2" | "h3" | "h4" | "h5" | "h6" => {
            let level = name.as_bytes().get(1).map_or(6, |digit| digit - b'0');
            Some(Block::Heading(level, text()?))
        }
        "li" => Some(Block::Item { numbered: is_numbered(element), text: text()? }),
        "p" if !inside(&["li"]) => Some(Block::Text(text()?)),
        _ => None,
    }
}

/// Whether the nearest list around the item is a numbered one.
fn is_numbered(item: ElementRef) -> bool {
    let mut above = item.ancestors().filter_map(ElementRef::wrap).map(|e| e.value().name());
    above.find(|name| matches!(*name, "ol" | "ul")) == Some("ol")
}

/// The page's own name for itself.
fn title(page: &Html) -> String {
    let heading = all(page, "h1").first().map(|h| text_of(*h)).filter(|text| !text.is_empty());
    let named = || all(page, "title").first().map(|t| text_of(*t));
    heading.or_else(named).unwrap_or_default()
}
