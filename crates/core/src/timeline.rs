//! V_R: the chosen sequence as cuts.
//!
//! A clip becomes a cut with some footage before and after it, never footage that another cut of
//! the same video shows: neighbours share the gap between them, and steps that share a clip share
//! it in order. What is too long is played faster, then trimmed to its middle: where a step begins
//! and ends is less sure than where it is. Several clips of one step share its greatest length.

use crate::clip::{Clip, ClipId, Span, VideoId};
use crate::pool::Pool;

/// How clips become cuts; lengths in milliseconds.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct TimelineOptions {
    /// Footage to add before and after each clip.
    pub padding_ms: u64,
    /// The least length of a cut, where its video has room.
    pub shortest_ms: u64,
    /// The greatest length of a step as it is played.
    pub longest_ms: u64,
    /// The greatest speed of a cut that is too long; 1 trims it instead.
    pub fastest: f64,
}

impl Default for TimelineOptions {
    fn default() -> Self {
        Self { padding_ms: 300, shortest_ms: 2000, longest_ms: 20_000, fastest: 1.0 }
    }
}

impl TimelineOptions {
    fn greatest_speed(&self) -> f64 {
        if self.fastest > 1.0 { self.fastest } else { 1.0 }
    }

    /// Of one of so many clips of a step. The least length wins where the two contradict one another.
    fn longest_played(&self, clips: u64) -> u64 {
        (self.longest_ms / clips).max(self.shortest_ms).max(1)
    }

    fn longest_footage(&self, clips: u64) -> u64 {
        (self.longest_played(clips) as f64 * self.greatest_speed()) as u64
    }
}

/// A piece of the demonstration: which footage shows a step, and how fast.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Cut {
    pub step: usize,
    pub clip: ClipId,
    pub video: VideoId,
    pub span: Span,
    /// Playback speed, at least 1.
    pub speed: f64,
}

/// The video that a cut is taken from.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Room {
    pub length_ms: u64,
    /// Where its shots begin, in order, empty where unknown. Footage is not added across one: a moment of
    /// another scene would flash up.
    pub shots: Vec<u64>,
    /// Its clips: footage of one is not added to another, which shows another step.
    pub clips: Vec<Span>,
}

/// The cuts of these clips of steps, in the order of the steps; several of one step are of one video and in its
/// order.
pub fn timeline(
    clips: &[(usize, ClipId)],
    pool: &Pool,
    room: impl Fn(VideoId) -> Room,
    options: &TimelineOptions,
) -> Vec<Cut> {
    let of_step = |step: usize| clips.iter().filter(|(other, _)| *other == step).count() as u64;
    let mut pieces: Vec<Piece> =
        clips.iter().map(|(step, id)| Piece::new(*step, of_step(*step), *id, pool)).collect();
    pieces.sort_by_key(|piece| (piece.video, piece.start, piece.step));
    for of_video in pieces.chunk_by_mut(|a, b| a.video == b.video) {
        let room = room(of_video[0].video);
        let length = room.length_ms.max(1);
        of_video.iter_mut().for_each(|piece| piece.keep_within(length));
        separate(of_video);
        pad(of_video, &room, options.padding_ms);
        of_video.iter_mut().for_each(|piece| piece.trim(options.longest_footage(piece.of_step)));
        lengthen(of_video, length, options.shortest_ms);
    }
    pieces.sort_by_key(|piece| piece.step);
    pieces.into_iter().map(|piece| piece.cut(options)).collect()
}

/// A cut in the making.
#[derive(Clone, Copy)]
struct Piece {
    step: usize,
    /// How many clips the step has.
    of_step: u64,
    clip: ClipId,
    video: VideoId,
    start: u64,
    end: u64,
    /// The middle of the clip itself, which stays when the piece is trimmed.
    middle: u64,
}

impl Piece {
    fn new(step: usize, of_step: u64, clip: ClipId, pool: &Pool) -> Self {
        let &Clip { video, span, .. } = pool.clip(clip);
        let (start, end) = (span.start(), span.end());
        Self { step, of_step, clip, video, start, end, middle: start.midpoint(end) }
    }

    /// Clamps it to the video.
    fn keep_within(&mut self, length: u64) {
        self.set(self.start.min(length - 1), self.end.min(length));
    }

    fn set(&mut self, start: u64, end: u64) {
        (self.start, self.end, self.middle) = (start, end, start.midpoint(end));
    }

    fn length(&self) -> u64 {
        self.end - self.start
    }

    /// Played faster where it is too long.
    fn cut(self, options: &TimelineOptions) -> Cut {
        let times = self.length() as f64 / options.longest_played(self.of_step) as f64;
        let span = Span::new(self.start, self.end).expect("a piece is never empty");
        let speed = times.clamp(1.0, options.greatest_speed());
        Cut { step: self.step, clip: self.clip, video: self.video, span, speed }
    }

    /// At most this long, around the middle of the clip.
    fn trim(&mut self, longest: u64) {
        if self.length() > longest {
            let latest = self.end - longest;
            self.start = self.middle.saturating_sub(longest / 2).clamp(self.start, latest);
            self.end = self.start + longest;
        }
    }
}

/// Divides footage that several pieces want: two that overlap meet in the middle of the overlap;
/// where that leaves one with nothing, all that overlap get equal parts of the whole.
fn separate(pieces: &mut [Piece]) {
    let mut first = 0;
    while first < pieces.len() {
        let mut end = pieces[first].end;
        let mut last = first + 1;
        while last < pieces.len() && pieces[last].start < end {
            end = end.max(pieces[last].end);
            last += 1;
        }
        if last - first > 1 {
            separate_overlapping(&mut pieces[first..last], end);
        }
        first = last;
    }
}

fn separate_overlapping(pieces: &mut [Piece], end: u64) {
    let mut bounds = vec![pieces[0].start];
    bounds.extend(pieces.windows(2).map(|two| two[0].end.midpoint(two[1].start)));
    bounds.push(end);
    let part = |i: usize| (pieces[i].start.max(bounds[i]), pieces[i].end.min(bounds[i + 1]));
    let parts: Vec<(u64, u64)> = (0..pieces.len()).map(part).collect();
    let apart = parts.windows(2).all(|two| two[0].1 <= two[1].0);
    if apart && parts.iter().all(|(start, end)| start < end) {
        pieces.iter_mut().zip(parts).for_each(|(piece, (start, end))| piece.set(start, end));
    } else {
        divide_equally(pieces, end);
    }
}

fn divide_equally(pieces: &mut [Piece], end: u64) {
    let (start, count) = (pieces[0].start, pieces.len() as u64);
    let bound =
        |i: u64| start + (u128::from(end - start) * u128::from(i) / u128::from(count)) as u64;
    for (i, piece) in pieces.iter_mut().enumerate() {
        let (from, to) = (bound(i as u64), bound(i as u64 + 1));
        // Fewer milliseconds than steps: a moment shown twice is better than a step lost.
        let from = from.min(end - 1);
        piece.set(from, to.max(from + 1));
    }
}

/// Adds footage on both sides, up to the middle of the gap to the neighbours, within the shots that the piece begins and
/// ends in, and without that of other clips.
fn pad(pieces: &mut [Piece], room: &Room, padding: u64) {
    let bounds: Vec<u64> =
        pieces.windows(2).map(|two| two[0].end.midpoint(two[1].start.max(two[0].end))).collect();
    for (i, piece) in pieces.iter_mut().enumerate() {
        let (ends, starts) =
            (room.clips.iter().map(|clip| clip.end()), room.clips.iter().map(|clip| clip.start()));
        let before = room.shots.iter().copied().chain(ends).filter(|at| *at <= piece.start).max();
        let after = room.shots.iter().copied().chain(starts).filter(|at| *at >= piece.end).min();
        let left = if i == 0 { 0 } else { bounds[i - 1] };
        let right = bounds.get(i).copied().unwrap_or(room.length_ms.max(1));
        let (before, after) = (before.unwrap_or(0).max(left), after.unwrap_or(u64::MAX).min(right));
        piece.start = piece.start.saturating_sub(padding).max(before.min(piece.start));
        piece.end = piece.end.saturating_add(padding).min(after.max(piece.end));
    }
}

/// Lengthens what is too short into what the neighbours leave free, evenly where both sides have
/// room.
fn lengthen(pieces: &mut [Piece], length: u64, shortest: u64) {
    for i in 0..pieces.len() {
        let before = if i == 0 { 0 } else { pieces[i - 1].end };
        let after = pieces.get(i + 1).map_or(length, |next| next.start);
        let piece = &mut pieces[i];
        let missing = shortest.saturating_sub(piece.length());
        let left = piece.start.saturating_sub(before);
        let right = after.saturating_sub(piece.end);
        let to_left = (missing / 2).max(missing.saturating_sub(right)).min(left);
        piece.start -= to_left;
        piece.end += (missing - to_left).min(right);
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::features::Features;
    use proptest::prelude::*;

    const LENGTH: u64 = 60_000;

    fn cuts(clips: &[(u32, u64, u64)], options: &TimelineOptions) -> Vec<Cut> {
        cuts_of(clips, &Room { length_ms: LENGTH, ..Room::default() }, options)
    }

    fn cuts_of(clips: &[(u32, u64, u64)], room: &Room, options: &TimelineOptions) -> Vec<Cut> {
        let clip = |(video, start, end): &(u32, u64, u64)| Clip {
            video: VideoId(*video),
            span: Span::new(*start, *end).unwrap(),
            text: String::new(),
        };
        let features = Features::new(1, vec![1.0; clips.len()]).unwrap();
        let pool = Pool::new(clips.iter().map(clip).collect(), features.clone(), features).unwrap();
        let clips: Vec<_> = (0..clips.len()).map(|i| (2 * i, ClipId(i as u32))).collect();
        timeline(&clips, &pool, |_| room.clone(), options)
    }

    fn check(clips: &[(u32, u64, u64)], options: &TimelineOptions, expected: &[(u64, u64)]) {
        let cuts = cuts(clips, options);
        let spans: Vec<(u64, u64)> =
            cuts.iter().map(|cut| (cut.span.start(), cut.span.end())).collect();
        assert_eq!(spans, expected);
    }

    #[test]
    fn no_footage_is_added_across_a_shot() {
        let plain = TimelineOptions { padding_ms: 300, ..TimelineOptions::default() };
        let shots = vec![0, 5000, 9000, 20_000];
        let room = Room { length_ms: LENGTH, shots, ..Room::default() };
        let span = |start, end| {
            let cut = cuts_of(&[(0, start, end)], &room, &plain)[0];
            (cut.span.start(), cut.span.end())
        };
        assert_eq!(span(5000, 9000), (5000, 9000));
        assert_eq!(span(5100, 8800), (5000, 9000));
        assert_eq!(span(5400, 10_000), (5100, 10_300));
        // a clip that is too short is lengthened all the same
        assert_eq!(span(5000, 5500).1 - span(5000, 5500).0, 2000);
    }

    #[test]
    fn no_footage_of_another_clip_is_added() {
        let plain = TimelineOptions { padding_ms: 300, ..TimelineOptions::default() };
        let span = |start, end| Span::new(start, end).unwrap();
        let clips = vec![span(1000, 5000), span(5000, 9000), span(9200, 12_000)];
        let room = Room { length_ms: LENGTH, clips, ..Room::default() };
        let cut = cuts_of(&[(0, 5000, 9000)], &room, &plain)[0];
        assert_eq!((cut.span.start(), cut.span.end()), (5000, 9200));
        let cut = cuts_of(&[(0, 9200, 12_000)], &room, &plain)[0];
        assert_eq!((cut.span.start(), cut.span.end()), (9000, 12_300));
    }

    #[test]
    fn cuts_by_example() {
        let plain = TimelineOptions {
            padding_ms: 500,
            shortest_ms: 2000,
            longest_ms: 10_000,
            fastest: 1.0,
        };
        // padded, but not before the start of the video
        check(&[(0, 100, 4000)], &plain, &[(0, 4500)]);
        // neighbours share the gap; other videos do not matter
        check(&[(0, 1000, 4000), (0, 4400, 8000)], &plain, &[(500, 4200), (4200, 8500)]);
        check(&[(0, 1000, 4000), (1, 4400, 8000)], &plain, &[(500, 4500), (3900, 8500)]);
        // too short: longer on both sides, or on the side with room
        check(&[(0, 10_000, 10_200)], &plain, &[(9100, 11_100)]);
        check(&[(0, 0, 200)], &plain, &[(0, 2000)]);
        check(&[(0, 59_900, 60_000)], &plain, &[(58_000, 60_000)]);
        // too long: the middle of the clip stays
        check(&[(0, 20_000, 40_000)], &plain, &[(25_000, 35_000)]);
        // one clip for two steps is shared in order, also when they stand backwards
        check(
            &[(0, 10_000, 16_000), (0, 10_000, 16_000)],
            &plain,
            &[(9500, 13_000), (13_000, 16_500)],
        );
        check(
            &[(0, 14_000, 20_000), (0, 10_000, 16_000)],
            &plain,
            &[(15_000, 20_500), (9500, 15_000)],
        );
        // a clip beyond the end of the video is what is there of it
        check(&[(0, 57_000, 70_000)], &plain, &[(56_500, 60_000)]);
    }

    #[test]
    fn long_cuts_are_played_faster_before_they_are_trimmed() {
        let fast =
            TimelineOptions { padding_ms: 0, shortest_ms: 0, longest_ms: 10_000, fastest: 2.0 };
        let cuts = cuts(&[(0, 0, 15_000), (1, 0, 30_000), (2, 0, 5000)], &fast);
        assert_eq!(cuts.iter().map(|cut| cut.speed).collect::<Vec<_>>(), [1.5, 2.0, 1.0]);
        assert_eq!(cuts[0].span, Span::new(0, 15_000).unwrap());
        assert_eq!(cuts[1].span, Span::new(5000, 25_000).unwrap());
        assert_eq!(cuts.iter().map(|cut| cut.step).collect::<Vec<_>>(), [0, 2, 4]);
    }

    #[test]
    fn the_clips_of_a_step_share_its_length_and_stay_in_order() {
        let clip = |start: u64| Clip {
            video: VideoId(0),
            span: Span::new(start, start + 9000).unwrap(),
            text: String::new(),
        };
        let rows = Features::new(1, vec![1.0; 3]).unwrap();
        let clips = vec![clip(20_000), clip(5000), clip(40_000)];
        let pool = Pool::new(clips, rows.clone(), rows).unwrap();
        let options =
            TimelineOptions { padding_ms: 0, shortest_ms: 0, longest_ms: 8000, fastest: 1.0 };
        let room = Room { length_ms: LENGTH, ..Room::default() };
        let clips = [(1, ClipId(0)), (1, ClipId(1)), (2, ClipId(2))];
        let cuts = timeline(&clips, &pool, |_| room.clone(), &options);
        let found: Vec<_> = cuts.iter().map(|c| (c.step, c.clip.0, c.span.length())).collect();
        assert_eq!(found, [(1, 1, 4000), (1, 0, 4000), (2, 2, 8000)]);
    }

    fn options() -> impl Strategy<Value = TimelineOptions> {
        (0u64..5000, 0u64..8000, 1u64..20_000, 0.5f64..4.0).prop_map(
            |(padding_ms, shortest_ms, longest_ms, fastest)| TimelineOptions {
                padding_ms,
                shortest_ms,
                longest_ms,
                fastest,
            },
        )
    }

    proptest! {
        #[test]
        fn cuts_stay_in_the_video_apart_and_in_order(
            clips in prop::collection::vec((0u32..3, 0u64..LENGTH - 1, 1u64..9000), 1..9),
            options in options()
        ) {
            let clips: Vec<(u32, u64, u64)> = clips
                .into_iter().map(|(v, start, length)| (v, start, (start + length).min(LENGTH))).collect();
            let cuts = cuts(&clips, &options);
            prop_assert_eq!(cuts.len(), clips.len());
            prop_assert!(cuts.is_sorted_by(|a, b| a.step < b.step));
            let longest = options.longest_ms.max(options.shortest_ms);
            for (i, a) in cuts.iter().enumerate() {
                prop_assert!(a.span.end() <= LENGTH);
                prop_assert_eq!(a.video, VideoId(clips[i].0));
                prop_assert!(a.span.length() as f64 / a.speed <= longest as f64 + 1e-6);
                prop_assert!(a.speed >= 1.0 && a.speed <= options.fastest.max(1.0));
                let apart = |b: &Cut| a.video != b.video || !a.span.overlaps(b.span);
                // Equal parts of next to nothing may touch; a hundred milliseconds are never that.
                let enough = clips.iter().all(|(_, start, end)| end - start > 100);
                prop_assert!(!enough || cuts[i + 1..].iter().all(apart));
            }
        }

        #[test]
        fn clips_that_are_apart_are_shown_whole_and_long_enough(
            gaps in prop::collection::vec((0u64..4000, 1u64..3000), 1..8), options in options()
        ) {
            let mut clips = Vec::new();
            let mut at = 0;
            for (gap, length) in gaps {
                clips.push((0, at + gap, at + gap + length));
                at += gap + length;
            }
            let cuts = cuts(&clips, &options);
            let room = |i: usize| {
                let before = if i == 0 { 0 } else { cuts[i - 1].span.end() };
                cuts.get(i + 1).map_or(LENGTH, |next| next.span.start()) - before
            };
            let longest = options.longest_ms.max(options.shortest_ms);
            for (i, (cut, (_, start, end))) in cuts.iter().zip(&clips).enumerate() {
                let whole = cut.span.start() <= *start && cut.span.end() >= *end;
                let trimmed = cut.span.length() >= longest;
                prop_assert!(whole || trimmed, "{:?} of {}-{}", cut, start, end);
                let least = options.shortest_ms.min(room(i));
                prop_assert!(cut.span.length() >= least || trimmed, "{:?} of {}", cut, least);
            }
        }
    }
}
