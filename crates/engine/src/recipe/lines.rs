//! Plain text and Markdown as blocks: headings, list items, lines.

use super::outline::{Block, Topic, begins_with_unit, topic};
use crate::lexicon::{self, Tense};

/// The blocks of a plain text. Lines such as `Method:` are headings; so is a title line.
pub fn plain(text: &str) -> Vec<Block> {
    let mut blocks: Vec<Block> = text.lines().map(plain_block).collect();
    promote_title(&mut blocks);
    blocks
}

fn plain_block(line: &str) -> Block {
    let trimmed = line.trim();
    let indented = line.starts_with("  ") || line.starts_with('\t');
    if trimmed.is_empty() || is_rule(trimmed) {
        Block::Blank
    } else if let Some((numbered, text)) = item(trimmed) {
        Block::Item { numbered, text: text.to_string() }
    } else if let Some(level) = heading_level(trimmed) {
        Block::Heading(level, trimmed.trim_end_matches(':').to_string())
    } else if indented {
        Block::More(trimmed.to_string())
    } else {
        Block::Text(trimmed.to_string())
    }
}

/// Whether the line only draws a line.
fn is_rule(line: &str) -> bool {
    line.len() >= 3 && line.chars().all(|c| matches!(c, '-' | '=' | '*' | '_' | '~' | ' '))
}

/// The size of a heading in plain text: `Method`, `INGREDIENTS:`, `For the sauce:`.
fn heading_level(line: &str) -> Option<u8> {
    let (bare, colon) = match line.strip_suffix(':') {
        Some(bare) => (bare, true),
        None => (line, false),
    };
    let words = bare.split_whitespace().count();
    let named = topic(bare) != Topic::Other && words <= 4 && !bare.ends_with(['.', '!', ',']);
    // "Steps for the sauce" is a heading, "Method acting is fun to watch" is not
    match (named, colon) {
        (true, true) => Some(2),
        (true, false) if words <= 3 && !begins_with_verb(bare) => Some(2),
        (false, true) if words <= 6 => Some(3),
        _ => None,
    }
}

/// Whether the text begins as an order does: with a verb.
fn begins_with_verb(text: &str) -> bool {
    let first = text.split_whitespace().next().unwrap_or("").to_lowercase();
    lexicon::verb(&first).is_some_and(|form| form.tense == Tense::Plain)
}

/// Makes the first line a heading where it names what is made instead of being the first step.
fn promote_title(blocks: &mut [Block]) {
    let Some(first) = blocks.iter().position(|b| *b != Block::Blank) else { return };
    let Block::Text(text) = &blocks[first] else { return };
    let text = text.clone();
    let named = text.to_lowercase().starts_with("title:");
    if named || is_title(&text, &blocks[first + 1..]) {
        let text = if named { text[6..].trim() } else { text.as_str() };
        blocks[first] = Block::Heading(1, text.to_string());
    }
}

fn is_title(text: &str, after: &[Block]) -> bool {
    let closed = text.ends_with(['.', '!', ',', ';']);
    let body: Vec<&Block> = after.iter().filter(|b| **b != Block::Blank).collect();
    if closed || body.is_empty() {
        return false;
    }
    let words = text.split_whitespace().count();
    let leads_list = body.iter().any(|b| matches!(b, Block::Item { .. } | Block::Heading(..)));
    let named = !begins_with_verb(text);
    let leads_text = after.first() == Some(&Block::Blank) && named;
    let differs = || named && differs_from_steps(text, &body);
    match words {
        ..=10 => leads_list || leads_text || differs(),
        11..=25 => leads_text && are_together(after),
        _ => false,
    }
}

/// Whether a line without a full stop stands before lines that read otherwise: sentences, orders, or
/// notes in small letters and numbers.
fn differs_from_steps(text: &str, body: &[&Block]) -> bool {
    let lines: Vec<&str> = body
        .iter()
        .filter_map(|block| match block {
            Block::Text(line) => Some(line.as_str()),
            _ => None,
        })
        .collect();
    let most = |reads: &dyn Fn(&str) -> bool| {
        lines.len() >= 2 && lines.iter().filter(|line| reads(line)).count() * 3 >= lines.len() * 2
    };
    let sentences = most(&|line| line.ends_with(['.', '!', '?', ')']));
    let orders = most(&|line| begins_with_verb(line));
    // in a language without listed verbs the first line may be a step like the others
    let known = lines.iter().any(|line| begins_with_verb(line));
    let notes = known
        && text.starts_with(char::is_uppercase)
        && most(&|line| !line.starts_with(char::is_uppercase));
    sentences || orders || notes
}

/// Whether lines follow one another without a blank between: a line set apart from them is no such line.
fn are_together(blocks: &[Block]) -> bool {
    blocks.windows(2).any(|pair| !pair.contains(&Block::Blank))
}

/// The text of a list item and whether its mark counts: `1.`, `2)`, `(3)`, `Step 4:`, `a)`, `•`.
pub fn item(line: &str) -> Option<(bool, &str)> {
    if let Some(text) = bullet(line) {
        // "- 1. Chop": a numbered list inside bullets
        return Some(
            number(text).or_else(|| step_word(text)).map_or((false, text), |text| (true, text)),
        );
    }
    number(line).or_else(|| step_word(line)).or_else(|| letter(line)).map(|text| (true, text))
}

fn bullet(line: &str) -> Option<&str> {
    let mut chars = line.chars();
    let mark = chars.next().filter(|c| "-*+•·‣◦▪▢☐□●○–—".contains(*c))?;
    let spaced = !matches!(mark, '-' | '*' | '+' | '–' | '—' | '·');
    let rest = chars.as_str();
    let text =
        if spaced { rest.trim_start() } else { rest.strip_prefix([' ', '\t'])?.trim_start() };
    let text = ["[ ] ", "[x] ", "[X] "].iter().find_map(|b| text.strip_prefix(b)).unwrap_or(text);
    Some(text.trim_start())
}

fn number(line: &str) -> Option<&str> {
    let open = line.strip_prefix(['(', '#', '[']).unwrap_or(line);
    let digits = open.find(|c| !is_digit(c)).unwrap_or(open.len());
    if !(1..=3).contains(&open[..digits].chars().count()) {
        return None;
    }
    let rest = open[digits..].trim_start_matches(['\u{fe0f}', '\u{20e3}']);
    let marked = rest.len() < open.len() - digits;
    let rest = match rest.strip_prefix([')', ']', '.', ':', '-']) {
        Some(rest) => rest,
        None if marked => rest,
        None => return None,
    };
    let rest = rest.strip_prefix(')').unwrap_or(rest);
    // 1.5 L of water, 10:30, 2-3 onions; but 4.1 Chop
    if rest.starts_with(|c: char| c.is_ascii_digit()) {
        let part = rest.trim_start_matches(|c: char| c.is_ascii_digit());
        let chapter = open[digits..].starts_with('.') && rest.len() - part.len() <= 2;
        let text = part.trim_start();
        let named = text.starts_with(char::is_uppercase) && !begins_with_unit(text);
        return (chapter && part.starts_with(' ') && named).then_some(text);
    }
    Some(rest.trim_start())
}

/// European, Arabic and Persian digits.
fn is_digit(c: char) -> bool {
    matches!(c, '0'..='9' | '٠'..='٩' | '۰'..='۹')
}

/// The text after `Step 4:`, `STEP FOUR -` or `Step 4` on a line of its own.
fn step_word(line: &str) -> Option<&str> {
    const WORDS: [&str; 12] = [
        "one", "two", "three", "four", "five", "six", "seven", "eight", "nine", "ten", "eleven",
        "twelve",
    ];
    let head = line.get(..5)?;
    if !head.eq_ignore_ascii_case("step ") && !head.eq_ignore_ascii_case("step#") {
        return None;
    }
    let rest = line[5..].trim_start_matches(['#', ' ']);
    let end = rest.find(|c: char| !c.is_ascii_alphanumeric()).unwrap_or(rest.len());
    let (count, rest) = rest.split_at(end);
    let counts = !count.is_empty() && count.bytes().all(|b| b.is_ascii_digit())
        || WORDS.iter().any(|word| word.eq_ignore_ascii_case(count));
    let text = rest.trim_start_matches([':', '.', ')', '-', '–', '—', ' ', '\t']);
    let marked = rest.is_empty() || text.len() < rest.len();
    (counts && marked).then_some(text)
}

fn letter(line: &str) -> Option<&str> {
    let open = line.strip_prefix('(').unwrap_or(line);
    let mut chars = open.chars();
    chars.next().filter(char::is_ascii_alphabetic)?;
    Some(chars.as_str().strip_prefix(')')?.strip_prefix(' ')?.trim_start())
}

/// The blocks of a Markdown text.
pub fn markdown(text: &str) -> Vec<Block> {
    let (front, body) = front_matter(text);
    let mut blocks: Vec<Block> = Vec::new();
    content_lines(body).iter().for_each(|line| push_markdown(&mut blocks, line));
    let titled = blocks.iter().any(|b| matches!(b, Block::Heading(1, _)));
    if let Some(title) = front.filter(|_| !titled) {
        blocks.insert(0, Block::Heading(1, title));
    } else if !titled {
        promote_title(&mut blocks);
    }
    blocks
}

/// The lines outside of comments, code blocks and tables; tables hold quantities and nutrition.
fn content_lines(body: &str) -> Vec<String> {
    let mut fenced = false;
    let mut lines = Vec::new();
    for line in without_comments(body).lines() {
        let start = line.trim_start();
        let fence = start.starts_with("```") || start.starts_with("~~~");
        fenced ^= fence;
        if !fence && !fenced && !start.starts_with('|') {
            lines.push(line.to_owned());
        }
    }
    lines
}

/// The lines of a Markdown text without markup, but for list marks and the marks of headings.
pub fn markdown_lines(text: &str) -> Vec<String> {
    let plain = |line: &String| {
        let line = line.trim().trim_start_matches(['>', ' ']);
        let text = inline_kept(line.trim_start_matches(['#', ' ']));
        if item(&text).is_some() { text } else { inline_kept(line) }
    };
    content_lines(front_matter(text).1).iter().map(plain).collect()
}

fn push_markdown(blocks: &mut Vec<Block>, line: &str) {
    let trimmed = line.trim();
    let hashes = trimmed.bytes().take_while(|b| *b == b'#').count();
    if (1..=6).contains(&hashes) && trimmed[hashes..].starts_with([' ', '\t']) {
        let text = inline(trimmed[hashes..].trim().trim_end_matches('#'));
        blocks.push(Block::Heading(hashes as u8, text));
    } else if let Some(level) = underline(trimmed)
        && let Some(Block::Text(text)) = blocks.last().cloned()
    {
        blocks.pop();
        blocks.push(Block::Heading(level, text));
    } else if let Some(bold) = bold_line(trimmed) {
        blocks.push(Block::Heading(4, inline(bold)));
    } else {
        let quoted = trimmed.trim_start_matches(['>', ' ']);
        let indent = &line[..line.len() - line.trim_start().len()];
        blocks.push(plain_block(&format!("{indent}{}", inline_kept(quoted))));
    }
}

/// The level of a heading that this line underlines.
fn underline(line: &str) -> Option<u8> {
    let all = |c: char| line.len() >= 2 && line.chars().all(|x| x == c);
    if all('=') { Some(1) } else { all('-').then_some(2) }
}

/// The text of a line that is bold as a whole: a heading by another name.
fn bold_line(line: &str) -> Option<&str> {
    let inside = |mark: &str| line.strip_prefix(mark)?.trim_end_matches(':').strip_suffix(mark);
    let text = inside("**").or_else(|| inside("__"))?;
    let heading = !text.contains("**") && text.split_whitespace().count() <= 6;
    (heading && !text.ends_with(['.', '!'])).then(|| text.trim_end_matches(':'))
}

/// The title in the front matter, and the text after it.
fn front_matter(text: &str) -> (Option<String>, &str) {
    let Some(rest) = text.trim_start().strip_prefix("---\n") else { return (None, text) };
    let Some(end) = rest.find("\n---") else { return (None, text) };
    let (front, body) = rest.split_at(end);
    let title = front.lines().find_map(|line| line.strip_prefix("title:"));
    let title = title.map(|t| t.trim().trim_matches(['"', '\'']).to_string());
    let body = body[4..].split_once('\n').map_or("", |(_, body)| body);
    (title.filter(|t| !t.is_empty()), body)
}

fn without_comments(text: &str) -> String {
    let mut out = String::with_capacity(text.len());
    let mut rest = text;
    while let Some(at) = rest.find("<!--") {
        out.push_str(&rest[..at]);
        rest = rest[at..].find("-->").map_or("", |end| &rest[at + end + 3..]);
    }
    out + rest
}

/// As [`inline`], but a list mark at the start stays one.
fn inline_kept(line: &str) -> String {
    match line.strip_prefix("* ") {
        Some(rest) => format!("* {}", inline(rest)),
        None => inline(line),
    }
}

/// The words of a Markdown line: links, pictures, emphasis, code and escapes removed.
pub fn inline(line: &str) -> String {
    let line = crate::transcript::text::without_tags(&links(line));
    let mut out = String::with_capacity(line.len());
    let mut chars = line.chars().peekable();
    let mut before = ' ';
    while let Some(c) = chars.next() {
        let next = chars.peek().copied().unwrap_or(' ');
        let kept = match c {
            '\\' if next.is_ascii_punctuation() => {
                chars.next();
                Some(next)
            }
            '*' | '`' => None,
            '_' => (before.is_alphanumeric() && next.is_alphanumeric()).then_some('_'),
            '~' if next == '~' || before == '~' => None,
            c => Some(c),
        };
        before = c;
        out.extend(kept);
    }
    crate::transcript::text::entities(&out).trim().to_string()
}

/// `[text](address)` as text; pictures removed.
fn links(line: &str) -> String {
    let mut out = String::with_capacity(line.len());
    let has_links = line.contains("](") || line.contains("][");
    let mut rest = line;
    while let Some(at) = rest.find('[').filter(|_| has_links) {
        let Some((text, length)) = link(&rest[at..]) else {
            out.push_str(&rest[..=at]);
            rest = &rest[at + 1..];
            continue;
        };
        let before = &rest[..at];
        match before.strip_suffix('!') {
            Some(before) => out.push_str(before),
            None => {
                out.push_str(before);
                out.push_str(text);
            }
        }
        rest = &rest[at + length..];
    }
    out + rest
}

/// The text of the link that this begins with, and the link's length.
fn link(text: &str) -> Option<(&str, usize)> {
    // bounded, so that a file of brackets costs no more than another
    let next = |from: usize, mark: u8| text.bytes().skip(from).take(500).position(|b| b == mark);
    let close = next(0, b']')?;
    let end = match text.as_bytes().get(close + 1)? {
        b'(' => next(close + 1, b')')?,
        b'[' => next(close + 1, b']')?,
        _ => return None,
    };
    Some((&text[1..close], close + 1 + end + 1))
}
