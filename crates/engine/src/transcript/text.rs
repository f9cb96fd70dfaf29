//! Text out of foreign bytes: encodings, entities, markup and sound descriptions.

use encoding_rs::{Encoding, UTF_8, UTF_16BE, UTF_16LE, WINDOWS_1252};
pub use stitch_core::format::fold;

/// The text of a file in UTF-8, UTF-16 (with or without a byte order mark) or, failing those,
/// windows-1252, with every line end as `\n` and without NUL.
pub fn decode(bytes: &[u8]) -> String {
    let text = match Encoding::for_bom(bytes) {
        Some((encoding, mark)) => encoding.decode_without_bom_handling(&bytes[mark..]).0,
        None => guess(bytes).decode_without_bom_handling(bytes).0,
    };
    text.replace("\r\n", "\n").replace(['\r', '\u{2028}', '\u{2029}'], "\n").replace('\0', "")
}

/// The encoding of bytes that do not name one.
fn guess(bytes: &[u8]) -> &'static Encoding {
    let head = &bytes[..bytes.len().min(4096)];
    let zeros = |odd: usize| head.iter().skip(odd).step_by(2).filter(|b| **b == 0).count();
    let (even, odd, quarter) = (zeros(0), zeros(1), head.len() / 8);
    if head.len() >= 4 && odd > quarter && odd > even * 4 {
        UTF_16LE
    } else if head.len() >= 4 && even > quarter && even > odd * 4 {
        UTF_16BE
    } else if std::str::from_utf8(bytes).is_ok() {
        UTF_8
    } else {
        WINDOWS_1252
    }
}

/// The text with what `replace` finds at each `open`: the replacement and how many bytes it replaces.
fn replaced(text: &str, open: &str, replace: impl Fn(&str) -> Option<(String, usize)>) -> String {
    let mut out = String::with_capacity(text.len());
    let mut rest = text;
    while let Some(at) = rest.find(open) {
        let (before, found) = rest.split_at(at);
        let (new, length) = replace(found).unwrap_or_else(|| (open.to_owned(), open.len()));
        out.push_str(before);
        out.push_str(&new);
        rest = &found[length..];
    }
    out + rest
}

/// The text with what `replace` says for each part from `open` to the next `close`. Nothing after the last `close`
/// is looked at: looking for another one at every `open` would take quadratic time.
fn replaced_pairs(text: &str, open: &str, close: char, replace: impl Fn(&str) -> &str) -> String {
    let (pairs, rest) = text.split_at(text.rfind(close).map_or(0, |at| at + close.len_utf8()));
    let pair = |found: &str| {
        let length = found.find(close)? + close.len_utf8();
        Some((replace(&found[..length]).to_owned(), length))
    };
    replaced(pairs, open, pair) + rest
}

/// The text with `&amp;`, `&#39;`, `&#x27;` and the other common entities written out.
pub fn entities(text: &str) -> String {
    replaced(text, "&", entity)
}

/// The entity that the text begins with, and how many bytes it takes.
fn entity(text: &str) -> Option<(String, usize)> {
    let end = text.bytes().take(12).position(|b| b == b';')?;
    let name = text.get(1..end)?;
    let character = match name.strip_prefix('#') {
        Some(number) => char::from_u32(match number.strip_prefix(['x', 'X']) {
            Some(hex) => u32::from_str_radix(hex, 16).ok()?,
            None => number.parse().ok()?,
        })?,
        None => named(name)?,
    };
    let character = if character.is_control() { ' ' } else { character };
    Some((character.to_string(), end + 1))
}

/// Each is a name and the character it stands for.
const NAMED: &str = "amp& lt< gt> quot\" apos' ndash– mdash— hellip… rsquo’ lsquo‘ rdquo” ldquo“ deg° \
    frac12½ frac14¼ frac34¾ times× eacuteé egraveè ccedilç oumlö uumlü aumlä";

fn named(name: &str) -> Option<char> {
    if matches!(name, "nbsp" | "lrm" | "rlm") {
        return Some(' ');
    }
    let one = |rest: &str| rest.chars().next().filter(|c| c.len_utf8() == rest.len());
    NAMED.split(' ').find_map(|entry| one(entry.strip_prefix(name)?))
}

/// The text without `<tags>`. A `<` that opens no tag (`a < b`) stays.
pub fn without_tags(text: &str) -> String {
    replaced(text, "<", |found| Some((String::new(), tag_length(found)?)))
}

/// How long the tag is that the text begins with; none where that is no tag.
fn tag_length(text: &str) -> Option<usize> {
    let opens = |c: char| c.is_ascii_alphanumeric() || matches!(c, '/' | '!' | '?');
    text[1..].chars().next().filter(|c| opens(*c))?;
    Some(text.bytes().take(400).position(|b| b == b'>')? + 1)
}

/// The text without `{\an8}` and other override blocks, with `\N`, `\n` and `\h` as spaces.
fn without_overrides(text: &str) -> String {
    let text = replaced_pairs(text, "{\\", '}', |_| "");
    text.replace("\\N", " ").replace("\\n", " ").replace("\\h", " ")
}

/// One line of a caption as what is said in it: no markup, sounds, speakers' names or dashes.
pub fn spoken(line: &str) -> String {
    let line = entities(&without_overrides(&without_tags(line)));
    // what was hidden behind entities may be markup too: &lt;i&gt;
    let line = without_tags(&line).replace(['\u{200b}', '\u{feff}', '\u{200e}', '\u{200f}'], "");
    let line = without_sounds(&line);
    fold(without_speaker(line.trim()))
}

/// The line without `[Music]`, `(applause)`, notes and sung lines.
fn without_sounds(line: &str) -> String {
    let is_note = |c: char| matches!(c, '♪' | '♫' | '♬' | '♩');
    if line.trim().starts_with(is_note) || line.trim_start().starts_with("# ") {
        return String::new();
    }
    let line = line.replace(is_note, " ");
    let line = without_bracketed(&line, "[", ']', |_| true);
    let whole = line.trim().starts_with('(') && line.trim().ends_with(')');
    without_bracketed(&line, "(", ')', |inside| whole || is_sound(inside))
}

/// The line without the bracketed parts of at most 80 bytes that `drop` names.
fn without_bracketed(line: &str, open: &str, close: char, drop: impl Fn(&str) -> bool) -> String {
    replaced_pairs(line, open, close, |pair| {
        let inside = &pair[1..pair.len() - 1];
        if inside.len() <= 80 && drop(inside) { "" } else { pair }
    })
}

/// Whether the words in brackets name a sound rather than something said.
fn is_sound(inside: &str) -> bool {
    const SOUNDS: &str = "music|applause|laugh|cheer|sigh|cough|chuckle|sizzl|inaudible|beep|whir|clatter|\
        knock|clap|silence|noise|upbeat|whoosh|gasp|sniff|bang|buzz|foreign|drilling sound";
    let inside = inside.to_lowercase();
    SOUNDS.split('|').any(|sound| inside.contains(sound))
}

/// The line without a dash, `>>` or `NAME:` that says who speaks.
fn without_speaker(line: &str) -> &str {
    let line = line.trim_start_matches(['-', '–', '—', '>', ' ', '\u{a0}']);
    match line.split_once(':') {
        Some((name, said)) if is_speaker(name) => said.trim_start(),
        _ => line,
    }
}

/// Whether the words before a colon are a speaker's name: short and in capitals.
fn is_speaker(name: &str) -> bool {
    let shouted = name.chars().any(char::is_uppercase) && !name.chars().any(char::is_lowercase);
    shouted && name.len() <= 30 && name.split_whitespace().count() <= 3
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn decodes_what_people_have() {
        let text = "Crème brûlée\nügly";
        let utf16: Vec<u16> = text.encode_utf16().collect();
        let little: Vec<u8> = utf16.iter().flat_map(|u| u.to_le_bytes()).collect();
        let big: Vec<u8> = utf16.iter().flat_map(|u| u.to_be_bytes()).collect();
        let marked = |mark: &[u8], body: &[u8]| [mark, body].concat();
        let cases: [(&str, Vec<u8>); 7] = [
            ("utf-8", text.into()),
            ("utf-8 with mark", marked(b"\xef\xbb\xbf", text.as_bytes())),
            ("utf-16le", little.clone()),
            ("utf-16le with mark", marked(b"\xff\xfe", &little)),
            ("utf-16be", big.clone()),
            ("utf-16be with mark", marked(b"\xfe\xff", &big)),
            ("windows-1252", WINDOWS_1252.encode(text).0.into_owned()),
        ];
        for (name, bytes) in cases {
            assert_eq!(decode(&bytes), text, "{name}");
        }
        assert_eq!(decode(b"a\r\nb\rc"), "a\nb\nc");
    }

    /// Time by the square of the length would be minutes.
    #[test]
    fn brackets_that_nothing_closes_take_no_time() {
        for open in ["{\\", "[", "(", "<", "&"] {
            let line = format!("say }} ] ) {}", open.repeat(1 << 21));
            assert!(spoken(&line).starts_with("say"), "{open}");
        }
    }

    #[test]
    fn keeps_what_is_said() {
        let cases = [
            ("<i>Chop</i> the <font color=\"#fff\">onion</font>", "Chop the onion"),
            ("{\\an8}Stir\\Nwell", "Stir well"),
            ("{\\pos(3,4)\\b1}Stir{\\b0} it", "Stir it"),
            ("salt &amp; pepper, it&#39;s &#x41;", "salt & pepper, it's A"),
            ("&lt;i&gt;Stir&lt;/i&gt;", "Stir"),
            ("if a < b & c", "if a < b & c"),
            ("[Music]", ""),
            ("[Applause] hello [Music]", "hello"),
            ("♪ la la la ♪", ""),
            ("(upbeat music) hi", "hi"),
            ("(door closes)", ""),
            ("add sugar (the brown one)", "add sugar (the brown one)"),
            ("- Hello.", "Hello."),
            (">> Hello.", "Hello."),
            (">> JOHN: Hello.", "Hello."),
            ("Step one: chop", "Step one: chop"),
            ("&nbsp;", ""),
            ("&#0;&bogus; &", "&bogus; &"),
            ("{\\an8", "{\\an8"),
        ];
        for (line, expected) in cases {
            assert_eq!(spoken(line), expected, "{line}");
        }
    }
}
