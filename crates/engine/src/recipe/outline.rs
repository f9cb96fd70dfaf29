//! Headings, list items and paragraphs of any document, and which of them are the steps.

use crate::lexicon::{self, Tense};

/// One line or block of a document.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Block {
    /// A heading; 1 is the largest.
    Heading(u8, String),
    /// An item of a list.
    Item {
        /// Whether the list is numbered.
        numbered: bool,
        /// What it says; may be empty where the text follows on the next lines.
        text: String,
    },
    /// A line that goes on with the item before it.
    More(String),
    /// A line of running text.
    Text(String),
    /// An empty line.
    Blank,
}

/// The title and steps of a document.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Draft {
    /// What the procedure makes; may be empty.
    pub title: String,
    /// The steps.
    pub steps: Vec<String>,
}

impl Draft {
    /// With the title of another reading where this one has none and does not take it for a step.
    pub fn with_title_of(self, other: Self) -> Self {
        let is_step = |title: &str| {
            let of = |step: &str| title.starts_with(step) || title.ends_with(step);
            self.steps.iter().any(|step| of(step.trim_end_matches(['.', ':', '!'])))
        };
        match self.title.is_empty() && !is_step(&other.title) {
            true => Self { title: other.title, ..self },
            false => self,
        }
    }
}

/// What a heading announces.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Topic {
    /// The steps.
    Method,
    /// What is needed.
    Needs,
    /// Notes, nutrition, comments and other things that are no steps.
    Aside,
    /// Anything else.
    Other,
}

/// What a heading is about.
pub fn topic(heading: &str) -> Topic {
    const METHOD: [&str; 13] = [
        "instruction",
        "method",
        "direction",
        "steps",
        "preparation",
        "procedure",
        "how to make",
        "how to do",
        "what to do",
        "how to prepare",
        "zubereitung",
        "préparation",
        "preparación",
    ];
    const NEEDS: [&str; 14] = [
        "ingredient",
        "you will need",
        "you'll need",
        "what you need",
        "materials",
        "tools",
        "equipment",
        "supplies",
        "shopping list",
        "cut list",
        "parts list",
        "zutaten",
        "ingrédients",
        "utensils",
    ];
    const ASIDE: [&str; 19] = [
        "note",
        "nutrition",
        "tips",
        "storage",
        "comment",
        "review",
        "related",
        "about",
        "faq",
        "introduction",
        "variations",
        "substitutions",
        "share",
        "subscribe",
        "more recipes",
        "story",
        "why you",
        "serving suggestion",
        "contents",
    ];
    let heading = heading.to_lowercase();
    let names = |list: &[&str]| list.iter().any(|word| heading.contains(word));
    let short = heading.split_whitespace().count() <= 8;
    match heading.trim() {
        "how to" | "step by step" | "step-by-step" | "make it" | "prep" => Topic::Method,
        _ if short && names(&NEEDS) => Topic::Needs,
        _ if short && names(&METHOD) => Topic::Method,
        _ if short && names(&ASIDE) => Topic::Aside,
        _ => Topic::Other,
    }
}

/// A stretch of a document under one heading.
struct Section<'a> {
    topic: Topic,
    blocks: &'a [Block],
}

/// The steps of a document: those under a heading that names the method, else its numbered list,
/// else its list, else its lines or paragraphs.
pub fn draft(blocks: &[Block]) -> Draft {
    let sections = sections(blocks);
    let method: Vec<&Section> = sections.iter().filter(|s| s.topic == Topic::Method).collect();
    let other = || sections.iter().filter(|s| s.topic == Topic::Other).collect();
    let chosen: Vec<&Section> = if method.is_empty() { other() } else { method };
    let steps = steps(&chosen);
    Draft { title: title(blocks), steps }
}

/// How many recipes the document seems to hold: headings of the method that follow one of what is needed.
pub fn recipes(blocks: &[Block]) -> usize {
    let topic_of = |block: &Block| match block {
        Block::Heading(_, text) => Some(topic(text)),
        _ => None,
    };
    let topics = blocks.iter().filter_map(topic_of);
    let parts: Vec<Topic> = topics.filter(|t| matches!(t, Topic::Needs | Topic::Method)).collect();
    parts.windows(2).filter(|pair| *pair == [Topic::Needs, Topic::Method]).count().max(1)
}

/// The document cut at its headings; a heading without a topic of its own has that of the larger
/// heading above it ("For the sauce" under "Method").
fn sections(blocks: &[Block]) -> Vec<Section<'_>> {
    let mut sections = Vec::new();
    let mut above: Vec<(u8, Topic)> = Vec::new();
    let mut from = 0;
    let first = first(blocks);
    for (i, block) in blocks.iter().enumerate() {
        if let Block::Heading(level, text) = block {
            sections.push(Section { topic: current(&above), blocks: &blocks[from..i] });
            above.retain(|(l, _)| l < level);
            let topic = match topic(text) {
                Topic::Other => current(&above),
                Topic::Aside if first == Some(i) => Topic::Other,
                topic => topic,
            };
            above.push((*level, topic));
            from = i + 1;
        }
    }
    sections.push(Section { topic: current(&above), blocks: &blocks[from..] });
    sections
}

/// The block before which nothing stands: "Tomato notes" above everything is a title.
fn first(blocks: &[Block]) -> Option<usize> {
    blocks.iter().position(|block| *block != Block::Blank)
}

fn current(above: &[(u8, Topic)]) -> Topic {
    above.last().map_or(Topic::Other, |(_, topic)| *topic)
}

/// The largest heading before the method and the ingredients, which says what is made.
fn title(blocks: &[Block]) -> String {
    let names_part = |b: &Block| matches!(b, Block::Heading(_, text) if matches!(topic(text), Topic::Method | Topic::Needs));
    let first = first(blocks);
    let before_parts = blocks.iter().enumerate().take_while(|(_, block)| !names_part(block));
    let headings = before_parts.filter_map(|(at, block)| match block {
        Block::Heading(level, text) if topic(text) == Topic::Other || first == Some(at) => {
            Some((level, text))
        }
        _ => None,
    });
    // the first of the largest
    headings.min_by_key(|(level, _)| **level).map_or_else(String::new, |(_, text)| text.clone())
}

/// The steps in these sections.
fn steps(sections: &[&Section]) -> Vec<String> {
    let has = |wanted: fn(&Block) -> bool| sections.iter().flat_map(|s| s.blocks).any(wanted);
    let numbered = has(|b| matches!(b, Block::Item { numbered: true, .. }));
    let items = sections.iter().flat_map(|s| list(s.blocks, numbered));
    let items: Vec<String> = items.filter(|s| is_step(s)).collect();
    if !items.is_empty() && (numbered || !items.iter().all(|item| is_ingredient(item))) {
        return items;
    }
    let paragraphs: Vec<Vec<String>> = sections.iter().flat_map(|s| paragraphs(s.blocks)).collect();
    without_ingredients(prose(paragraphs))
}

/// The items of a list, with the lines that go on with them. Where there is a numbered list, other
/// lists are what it needs or notes on it.
fn list(blocks: &[Block], numbered_only: bool) -> Vec<String> {
    let mut items: Vec<String> = Vec::new();
    let mut open = false; // whether lines belong to the last item
    let last_item = blocks.iter().rposition(|b| matches!(b, Block::Item { .. })).unwrap_or(0);
    for (i, block) in blocks.iter().enumerate() {
        match block {
            Block::Item { numbered, text } if *numbered || !numbered_only || !items.is_empty() => {
                items.push(text.clone());
                open = true;
            }
            Block::Item { .. } => {}
            Block::More(text) | Block::Text(text) if open => {
                if let Some(last) = items.last_mut() {
                    last.push(' ');
                    last.push_str(text);
                }
            }
            // "Enjoy!" after the list is no part of its last step
            Block::Blank if i > last_item && items.last().is_some_and(|s| !s.is_empty()) => {
                open = false
            }
            _ => {}
        }
    }
    items
}

/// Running text as paragraphs of lines.
fn paragraphs(blocks: &[Block]) -> Vec<Vec<String>> {
    let mut paragraphs = vec![Vec::new()];
    for block in blocks {
        match block {
            Block::Text(text) | Block::More(text) if !is_about(text) => {
                if let Some(last) = paragraphs.last_mut() {
                    last.push(text.clone());
                }
            }
            Block::Blank => paragraphs.push(Vec::new()),
            _ => {}
        }
    }
    paragraphs.retain(|lines| !lines.is_empty());
    paragraphs
}

/// Steps out of paragraphs: a step a line; where lines are wrapped text, a step a paragraph; a
/// single block of text, a step a sentence.
fn prose(paragraphs: Vec<Vec<String>>) -> Vec<String> {
    let paragraphs = without_remarks(paragraphs);
    let wrapped = paragraphs.iter().any(|lines| is_wrapped(lines));
    let blocks: Vec<String> = if wrapped {
        paragraphs.iter().map(|lines| lines.join(" ")).collect()
    } else {
        paragraphs.into_iter().flatten().collect()
    };
    let parts: Vec<&str> = blocks.iter().flat_map(|block| sentences(block)).collect();
    let running = blocks.len() <= RUNNING_PARAGRAPHS && parts.len() >= 3 * blocks.len();
    if blocks.len() == 1 || running {
        return parts.into_iter().map(str::to_owned).collect();
    }
    blocks
}

/// At most so many paragraphs of several sentences each are running text, a step a sentence.
const RUNNING_PARAGRAPHS: usize = 4;

/// The paragraphs without single lines before and after the block of steps that are no orders: an
/// introduction, a closing remark.
fn without_remarks(mut paragraphs: Vec<Vec<String>>) -> Vec<Vec<String>> {
    const BLOCK_LINES: usize = 3;
    let is_block = |lines: &Vec<String>| lines.len() >= BLOCK_LINES;
    let first = paragraphs.iter().position(is_block);
    let last = paragraphs.iter().rposition(is_block);
    let Some((first, last)) = first.zip(last) else { return paragraphs };
    let mut at = 0..;
    paragraphs.retain(|lines| {
        let inside = at.next().is_some_and(|at| (first..=last).contains(&at));
        inside || lines.len() > 1 || lines.iter().any(|line| is_order(line))
    });
    paragraphs
}

/// Whether a text begins as an order does, after words that only join it to what came before.
fn is_order(text: &str) -> bool {
    const JOINING: [&str; 8] =
        ["then", "next", "now", "finally", "first", "and", "meanwhile", "lastly"];
    let word = |word: &str| word.trim_matches(|c: char| !c.is_alphanumeric()).to_lowercase();
    let mut words = text.split_whitespace().map(word);
    let first = words.find(|word| !word.is_empty() && !JOINING.contains(&word.as_str()));
    let form = first.and_then(|first| lexicon::verb(&first));
    form.is_some_and(|form| form.tense == Tense::Plain)
}

/// Whether the lines are one text broken at a margin: long lines that go on in the next.
fn is_wrapped(lines: &[String]) -> bool {
    let goes_on = |pair: &&[String]| {
        let open = !pair[0].ends_with(['.', '!', '?', ':', ';', ')']);
        open && pair[0].len() >= 40
            && pair[1].starts_with(|c: char| c.is_lowercase() || c.is_numeric())
    };
    let small = lines.windows(2).filter(goes_on).count();
    small * 2 >= lines.len().saturating_sub(1) && small > 0
}

/// The sentences of a text. They begin with a capital, but not in a text that begins without one and has none after a full
/// stop, as in a chat.
pub fn sentences(text: &str) -> Vec<&str> {
    let capitals = !is_small(text);
    let mut sentences = Vec::new();
    let at = |word: &str| word.as_ptr() as usize - text.as_ptr() as usize;
    let mut words = text.split_whitespace().peekable();
    let mut start = None;
    while let Some(word) = words.next() {
        let from = *start.get_or_insert(at(word));
        let is_mark = from == at(word) && is_number(word);
        let ends = match words.peek() {
            Some(next) => {
                let begins = !capitals || !next.starts_with(char::is_lowercase);
                begins && closes(word) && !is_mark
            }
            None => true,
        };
        if ends {
            sentences.push(&text[from..at(word) + word.len()]);
            start = None;
        }
    }
    sentences
}

/// Whether the author begins sentences without a capital.
fn is_small(text: &str) -> bool {
    let mut pairs = text.split_whitespace().zip(text.split_whitespace().skip(1));
    text.trim_start().starts_with(char::is_lowercase)
        && pairs.all(|(word, next)| !closes(word) || !next.starts_with(char::is_uppercase))
}

/// Whether the word is a number as lists have it: `2.`, `(3)`.
fn is_number(word: &str) -> bool {
    let digits = word.trim_matches(|c: char| c.is_ascii_punctuation());
    (1..=3).contains(&digits.len()) && digits.bytes().all(|b| b.is_ascii_digit())
}

/// Whether a sentence may end with this word; not with `tbsp.` or `No.`
pub fn closes(word: &str) -> bool {
    const SHORT: [&str; 14] = [
        "tbsp", "tsp", "oz", "lb", "lbs", "approx", "no", "min", "mins", "hr", "hrs", "e.g", "i.e",
        "dr",
    ];
    let bare = word.trim_end_matches(['"', '\'', '”', '’', ')']);
    let Some(body) = bare.strip_suffix(['.', '!', '?', '…', '。']) else { return false };
    !SHORT.iter().any(|short| body.eq_ignore_ascii_case(short))
}

/// Whether the line says something about the procedure ("Serves 4") instead of being a step.
pub fn is_about(line: &str) -> bool {
    const KEYS: [&str; 34] = [
        "what you need",
        "you will need",
        "you'll need",
        "materials",
        "ingredients",
        "tools",
        "servings",
        "serves",
        "serving size",
        "yield",
        "yields",
        "makes",
        "prep time",
        "preparation time",
        "cook time",
        "cooking time",
        "total time",
        "time",
        "ready in",
        "difficulty",
        "level",
        "calories",
        "author",
        "by",
        "source",
        "url",
        "course",
        "cuisine",
        "category",
        "tags",
        "keywords",
        "rating",
        "published",
        "cost",
    ];
    let low = line.trim().to_lowercase();
    let key_of = |key: &str| {
        let Some(rest) = low.strip_prefix(key) else { return false };
        let quantity = rest.trim_start().starts_with(|c: char| c.is_ascii_digit());
        rest.trim_start().starts_with(':') || (rest.starts_with(' ') && quantity && low.len() < 40)
    };
    let address = (low.starts_with("http://") || low.starts_with("https://")) && !low.contains(' ');
    address || KEYS.iter().any(|key| key_of(key)) || !low.chars().any(char::is_alphanumeric)
}

fn is_step(text: &str) -> bool {
    !text.trim().is_empty() && !is_about(text)
}

/// The lines without those that are ingredients. "3 tomatoes, in wedges"
/// may be a step in somebody's notes: such a line counts only among others of its kind.
fn without_ingredients(steps: Vec<String>) -> Vec<String> {
    const RUN: usize = 3;
    let is_measured =
        |line: &str| line.split_once(' ').is_some_and(|(_, rest)| begins_with_unit(rest));
    let is_bare = |line: &String| {
        is_measured(line) || !line.contains(',') && line.split_whitespace().count() <= 4
    };
    let mut kept: Vec<String> = Vec::new();
    for run in steps.chunk_by(|a, b| is_ingredient(a) == is_ingredient(b)) {
        let ingredients = is_ingredient(&run[0]);
        let listed = run.len() >= RUN;
        let is_step = |line: &&String| !ingredients || !(listed || is_bare(line));
        kept.extend(run.iter().filter(is_step).cloned());
    }
    kept
}

/// Whether the text begins with a unit of measure: `L water`, `tbsp. sugar`.
pub fn begins_with_unit(text: &str) -> bool {
    const UNITS: &str = "g kg mg l ml cl dl oz lb lbs cup cups tbsp tsp tbs tablespoon tablespoons teaspoon \
        teaspoons pint pints quart quarts litre litres liter liters gram grams pound pounds ounce ounces el \
        tl m";
    let word = text.split_whitespace().next().unwrap_or("").trim_end_matches(['.', ',']);
    UNITS.split(' ').any(|unit| word.eq_ignore_ascii_case(unit))
}

/// Whether a word names a month or begins to: `Mar:`, `march`.
fn is_month(word: &str) -> bool {
    const MONTHS: [&str; 12] =
        ["jan", "feb", "mar", "apr", "may", "jun", "jul", "aug", "sep", "oct", "nov", "dec"];
    let word = word.to_lowercase();
    MONTHS.iter().any(|month| word.starts_with(month))
}

/// Whether the line is a quantity of something: `200 g flour`, `½ onion`, `2 cloves garlic`.
fn is_ingredient(line: &str) -> bool {
    let mut words = line.split_whitespace();
    let Some(first) = words.next() else { return false };
    if words.clone().next().is_some_and(|word| word.ends_with(':') && is_month(word)) {
        return false; // an entry of a diary: "10 Mar: pots filled"
    }
    let quantity = first.starts_with(|c: char| c.is_ascii_digit() || "½¼¾⅓⅔⅛".contains(c));
    let acts = |word: &str| {
        let word = word.trim_matches(|c: char| !c.is_alphanumeric()).to_lowercase();
        lexicon::verb(&word).is_some_and(|form| form.tense == Tense::Plain)
    };
    let parts: Vec<&str> = line.split(',').collect();
    let counted = |part: &&&str| part.trim_start().starts_with(|c: char| c.is_ascii_digit());
    let listed = parts.len() >= 4 && parts.iter().filter(counted).count() * 2 >= parts.len();
    listed || quantity && line.split_whitespace().count() <= 9 && !words.next().is_some_and(acts)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn sentences_may_begin_without_a_capital_where_none_does() {
        for (text, expected) in [
            ("wash it, shake dry. slice it. 2 eggs! whisk them", 4),
            ("Wash it. Slice it, e.g. thinly. whisk it", 2),
            ("then wash it. slice it. Whisk it", 2),
            ("add 2 tbsp. of sugar", 1),
        ] {
            assert_eq!(sentences(text).len(), expected, "{text}");
        }
    }
}
