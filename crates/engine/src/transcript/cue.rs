//! A caption on the screen, and the mending of caption times.

/// What is shown from one time to another.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Cue {
    /// When it appears, in milliseconds.
    pub start_ms: u64,
    /// When it goes.
    pub end_ms: u64,
    /// Its lines, markup removed.
    pub lines: Vec<Line>,
}

/// One line of a cue.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Line {
    /// What it says.
    pub text: String,
    /// When each word begins, where the file says so: (time, place in `text` in bytes).
    pub words: Vec<(u64, usize)>,
}

impl Line {
    /// A line whose words carry no times.
    pub fn plain(text: String) -> Self {
        Self { text, words: Vec::new() }
    }
}

impl Cue {
    /// A cue of one line without word times.
    pub fn plain(start_ms: u64, end_ms: u64, text: &str) -> Self {
        Self { start_ms, end_ms, lines: vec![Line::plain(text.to_string())] }
    }
}

/// Cues in order with sensible times, and what it took.
#[derive(Debug, Default)]
pub struct Mended {
    /// The cues that are left.
    pub cues: Vec<Cue>,
    /// How many cues had their times changed.
    pub repairs: usize,
    /// How many had no usable time.
    pub dropped: usize,
    /// Whether every cue was at time zero.
    pub timeless: bool,
}

/// No recording is longer than this: a time beyond it is damage.
const LONGEST_MS: u64 = 100 * 3_600_000;

/// Sorts the cues and gives each a start before its end; drops those that no rule can place.
pub fn mend(cues: Vec<Cue>) -> Mended {
    let timeless = cues.len() > 1 && cues.iter().all(|c| c.start_ms == 0 && c.end_ms == 0);
    let mut mended = Mended { timeless, ..Mended::default() };
    if mended.timeless {
        mended.dropped = cues.len();
        return mended;
    }
    for (i, cue) in cues.into_iter().enumerate() {
        let unplaced = i > 0 && cue.start_ms == 0 && cue.end_ms == 0;
        if unplaced || cue.start_ms > LONGEST_MS {
            mended.dropped += 1;
        } else {
            mended.cues.push(cue);
        }
    }
    mended.repairs += backwards(&mended.cues);
    mended.cues.sort_by_key(|cue| cue.start_ms);
    mended.repairs += close(&mut mended.cues);
    mended
}

/// How many cues begin before the one in front of them.
fn backwards(cues: &[Cue]) -> usize {
    cues.windows(2).filter(|pair| pair[1].start_ms < pair[0].start_ms).count()
}

/// Gives every cue an end after its start and not far beyond the next start; counts the changes.
fn close(cues: &mut [Cue]) -> usize {
    let mut repairs = 0;
    let (mut next, mut later) = (u64::MAX, u64::MAX); // the next start, and the next after that
    for cue in cues.iter_mut().rev() {
        if cue.start_ms < next {
            (next, later) = (cue.start_ms, next);
        }
        let end = if cue.end_ms <= cue.start_ms || cue.end_ms > LONGEST_MS {
            later.min(cue.start_ms + reading_ms(cue))
        } else {
            cue.end_ms.min(later)
        };
        repairs += usize::from(end != cue.end_ms);
        cue.end_ms = end;
    }
    repairs
}

/// How long it takes to say the cue, about.
fn reading_ms(cue: &Cue) -> u64 {
    let characters: usize = cue.lines.iter().map(|line| line.text.len()).sum();
    (characters as u64 * 65).clamp(500, 10_000)
}

/// The milliseconds of `hh:mm:ss,mmm`, `mm:ss.mm`, `h:mm:ss` or `ss.mmm`; comma or dot.
pub fn time(text: &str) -> Option<u64> {
    let mut total: u64 = 0;
    let parts: Vec<&str> = text.trim().split(':').collect();
    let (seconds, larger) = parts.split_last()?;
    if larger.len() > 3 {
        return None;
    }
    for part in larger {
        total = total.checked_mul(60)?.checked_add(digits(part)?)?;
    }
    let (whole, fraction) = seconds.split_once([',', '.']).unwrap_or((seconds, ""));
    total = total.checked_mul(60)?.checked_add(digits(whole)?)?.checked_mul(1000)?;
    total.checked_add(thousandths(fraction)?)
}

/// A number of one to six digits.
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

    /// Start, end -> start, end of what is left.
    fn mended(times: &[(u64, u64)]) -> (Vec<(u64, u64)>, usize, usize) {
        let mended = mend(times.iter().map(|(s, e)| Cue::plain(*s, *e, "chop it up")).collect());
        let times = mended.cues.iter().map(|c| (c.start_ms, c.end_ms)).collect();
        (times, mended.repairs, mended.dropped)
    }

    #[test]
    fn mends_times_and_counts() {
        assert_eq!(mended(&[(0, 900), (1000, 2000)]), (vec![(0, 900), (1000, 2000)], 0, 0));
        assert_eq!(mended(&[(0, 1000), (3000, 2000)]), (vec![(0, 1000), (3000, 3650)], 1, 0));
        assert_eq!(mended(&[(0, 5000), (1000, 2000)]), (vec![(0, 1000), (1000, 2000)], 1, 0));
        assert_eq!(mended(&[(5, 9), (0, 0), (20, 30)]), (vec![(5, 9), (20, 30)], 0, 1));
        assert_eq!(mended(&[(50, 60), (10, 20)]), (vec![(10, 20), (50, 60)], 1, 0));
        assert_eq!(mended(&[(0, 0), (0, 0)]), (vec![], 0, 2));
        assert_eq!(mended(&[(u64::MAX, 3)]), (vec![], 0, 1));
    }
}
