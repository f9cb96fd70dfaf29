//! v': a span of a video that shows one step, and the text of that step.

use std::fmt;

use crate::format::clock;

/// A video of the library, by its number there.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub struct VideoId(pub u32);

/// A clip of the pool, by its row there.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub struct ClipId(pub u32);

impl ClipId {
    pub fn row(self) -> usize {
        self.0 as usize
    }
}

/// A stretch of a video in milliseconds, start < end.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub struct Span {
    start: u64,
    end: u64,
}

impl Span {
    /// The span from `start` to `end` milliseconds; none if that is empty or backwards.
    pub fn new(start: u64, end: u64) -> Option<Self> {
        (start < end).then_some(Self { start, end })
    }

    pub fn start(self) -> u64 {
        self.start
    }

    /// Where it ends, in milliseconds (exclusive).
    pub fn end(self) -> u64 {
        self.end
    }

    pub fn length(self) -> u64 {
        self.end - self.start
    }

    /// Whether the two share a moment.
    pub fn overlaps(self, other: Self) -> bool {
        self.start < other.end && other.start < self.end
    }

    /// The share of the two spans' union that both cover.
    pub fn intersection_over_union(self, other: Self) -> f64 {
        let both = self.end.min(other.end).saturating_sub(self.start.max(other.start));
        let either = self.length() + other.length() - both;
        both as f64 / either as f64
    }
}

impl fmt::Display for Span {
    /// `m:ss.t-m:ss.t`
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}-{}", clock(self.start, 1), clock(self.end, 1))
    }
}

/// (r', v'): a step text and the span of a video that shows it.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Clip {
    pub video: VideoId,
    pub span: Span,
    /// The step it shows, in the words of its own video.
    pub text: String,
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn spans_are_never_empty_and_print_as_clocks() {
        assert_eq!(Span::new(5, 5), None);
        assert_eq!(Span::new(6, 5), None);
        assert_eq!(Span::new(61_250, 125_000).unwrap().to_string(), "1:01.2-2:05.0");
    }

    #[test]
    fn overlap_and_intersection() {
        let span = |a, b| Span::new(a, b).unwrap();
        assert!(span(0, 10).overlaps(span(9, 20)));
        assert!(!span(0, 10).overlaps(span(10, 20)));
        assert_eq!(span(0, 10).intersection_over_union(span(5, 15)), 5.0 / 15.0);
        assert_eq!(span(0, 10).intersection_over_union(span(10, 15)), 0.0);
    }
}
