//! Times, shares, counts and white space in text.

/// `m:ss` and so many digits of the second's fraction: `1:02`, `1:02.5`.
pub fn clock(ms: u64, digits: usize) -> String {
    let mut text = format!("{}:{:02}.{:03}", ms / 60_000, ms / 1000 % 60, ms % 1000);
    text.truncate(text.len() - if digits == 0 { 4 } else { 3 - digits.min(3) });
    text
}

/// `hh:mm:ss`
pub fn timecode(ms: u64) -> String {
    format!("{:02}:{:02}:{:02}", ms / 3_600_000, ms / 60_000 % 60, ms / 1000 % 60)
}

/// A share from 0 to 1 as `87 %`.
pub fn percent(share: f32) -> String {
    format!("{:.0} %", share * 100.0)
}

/// The text with every run of white space folded to one space.
pub fn fold(text: &str) -> String {
    text.split_whitespace().collect::<Vec<_>>().join(" ")
}

/// `1 video`, `2 videos`.
pub fn count(number: usize, noun: &str) -> String {
    format!("{number} {noun}{}", if number == 1 { "" } else { "s" })
}

/// The text with every run of white space and control characters as one space.
pub fn one_line(text: &str) -> String {
    let words = text.split(|c: char| c.is_whitespace() || c.is_control());
    words.filter(|word| !word.is_empty()).collect::<Vec<_>>().join(" ")
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn times_are_cut_off_and_not_rounded() {
        assert_eq!(clock(61_299, 0), "1:01");
        assert_eq!(clock(61_299, 1), "1:01.2");
        assert_eq!(clock(4_500_007, 3), "75:00.007");
        assert_eq!(timecode(3_723_999), "01:02:03");
    }
}
