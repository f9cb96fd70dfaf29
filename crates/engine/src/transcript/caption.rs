//! Timed captions as subtitle files hold them, and the repair of their times.

use serde::{Deserialize, Serialize};

/// Something said, and when.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Sentence {
    pub start_ms: u64,
    /// After the start.
    pub end_ms: u64,
    pub text: String,
}

/// What a subtitle file shows from one time to another.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Caption {
    pub start_ms: u64,
    pub end_ms: u64,
    /// Without markup.
    pub lines: Vec<Line>,
}

#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Line {
    pub text: String,
    /// When each word begins, where the file says so: (milliseconds, byte offset in `text`).
    pub words: Vec<(u64, usize)>,
}

impl Line {
    pub fn plain(text: String) -> Self {
        Self { text, words: Vec::new() }
    }
}

impl Caption {
    /// One line without word times.
    pub fn plain(start_ms: u64, end_ms: u64, text: &str) -> Self {
        Self { start_ms, end_ms, lines: vec![Line::plain(text.to_string())] }
    }
}

/// The captions of a file, and how many others were left out.
pub type Parsed = (Vec<Caption>, usize);

/// No recording is longer than this: a later time is damage.
const MAX_TIME_MS: u64 = 100 * 3_600_000;

/// Sorts the captions and gives each a start before its end; leaves out those without a usable time.
pub fn repaired(captions: Vec<Caption>) -> Parsed {
    let total = captions.len();
    let is_placed = |(i, caption): &(usize, Caption)| {
        let at_zero = caption.start_ms == 0 && caption.end_ms == 0;
        (*i == 0 || !at_zero) && caption.start_ms <= MAX_TIME_MS
    };
    let placed = captions.into_iter().enumerate().filter(is_placed);
    let mut placed: Vec<Caption> = placed.map(|(_, caption)| caption).collect();
    placed.sort_by_key(|caption| caption.start_ms);
    repair_ends(&mut placed);
    let dropped = total - placed.len();
    (placed, dropped)
}

/// Gives every caption an end after its start and no later than the next start but one.
fn repair_ends(captions: &mut [Caption]) {
    let (mut next, mut later) = (u64::MAX, u64::MAX); // the next start, and the next after that
    for caption in captions.iter_mut().rev() {
        if caption.start_ms < next {
            (next, later) = (caption.start_ms, next);
        }
        let is_broken = caption.end_ms <= caption.start_ms || caption.end_ms > MAX_TIME_MS;
        let end = if is_broken { caption.start_ms + reading_ms(caption) } else { caption.end_ms };
        caption.end_ms = end.min(later);
    }
}

/// About how long it takes to say the caption.
fn reading_ms(caption: &Caption) -> u64 {
    let characters: usize = caption.lines.iter().map(|line| line.text.len()).sum();
    (characters as u64 * 65).clamp(500, 10_000)
}

/// The milliseconds of `hh:mm:ss,mmm`, `mm:ss.mm`, `h:mm:ss` or `ss.mmm`; comma or dot.
pub fn time(text: &str) -> Option<u64> {
    let parts: Vec<&str> = text.trim().split(':').collect();
    let (seconds, larger) = parts.split_last().filter(|(_, larger)| larger.len() <= 3)?;
    let (whole, fraction) = seconds.split_once([',', '.']).unwrap_or((seconds, ""));
    let sum = |sum: u64, part: &&str| sum.checked_mul(60)?.checked_add(digits(part)?);
    let total = larger.iter().chain([&whole]).try_fold(0, sum)?;
    total.checked_mul(1000)?.checked_add(thousandths(fraction)?)
}

/// One to six digits.
fn digits(text: &str) -> Option<u64> {
    let text = text.trim();
    let right = (1..=6).contains(&text.len()) && text.bytes().all(|b| b.is_ascii_digit());
    right.then(|| text.parse().ok())?
}

/// `5` is half a second: the digits after the point as milliseconds.
fn thousandths(fraction: &str) -> Option<u64> {
    let fraction = fraction.trim();
    if !fraction.bytes().all(|b| b.is_ascii_digit()) {
        return None;
    }
    let three: String = fraction.chars().chain("000".chars()).take(3).collect();
    three.parse().ok()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn reads_times_as_people_write_them() {
        let cases = [
            ("00:00:01,500", Some(1500)),
            ("00:01.5", Some(1500)),
            ("1:02:03.04", Some(3_723_040)),
            ("01:00", Some(60_000)),
            ("7", Some(7000)),
            (" 00:00:02 ", Some(2000)),
            ("00: 00: 01, 500", Some(1500)),
            ("", None),
            ("-1:00", None),
            ("a:b", None),
            ("1:2:3:4:5", None),
            ("99999999999999:00", None),
            ("00:00:01.x", None),
        ];
        for (text, expected) in cases {
            assert_eq!(time(text), expected, "{text:?}");
        }
    }

    #[test]
    fn times_are_repaired_or_the_caption_is_dropped() {
        let check = |times: &[(u64, u64)], expected: &[(u64, u64)], dropped: usize| {
            let caption = |(s, e): &(u64, u64)| Caption::plain(*s, *e, "chop it up");
            let (found, left_out) = repaired(times.iter().map(caption).collect());
            let found: Vec<_> = found.iter().map(|c| (c.start_ms, c.end_ms)).collect();
            assert_eq!((found.as_slice(), left_out), (expected, dropped));
        };
        check(&[(0, 900), (1000, 2000)], &[(0, 900), (1000, 2000)], 0);
        check(&[(0, 1000), (3000, 2000)], &[(0, 1000), (3000, 3650)], 0);
        check(&[(0, 5000), (1000, 2000)], &[(0, 1000), (1000, 2000)], 0);
        check(&[(5, 9), (0, 0), (20, 30)], &[(5, 9), (20, 30)], 1);
        check(&[(50, 60), (10, 20)], &[(10, 20), (50, 60)], 0);
        check(&[(u64::MAX, 3)], &[], 1);
    }
}
