//! An encoder made of an image tower and a text tower: a second of video is the mean of its frames.
//!
//! Frames come from one decoding process. Whenever none is ready, those that wait are encoded in
//! parallel: neither side waits for the other while it has work, and memory is bounded for any length.

use std::sync::mpsc::{TryRecvError, sync_channel};

use rayon::prelude::*;
use stitch_core::features::Features;

use super::appearance;
use super::precomputed::PrecomputedError;
use super::shots::{self, Grid};
use super::tower::{FrameSpec, ImageTower, Seen, TextTower};
use super::{Encoder, EncoderId, Result, Seconds, VideoInput};
use crate::footage::{Footage, GRID_CELLS};
use crate::media::{Decode, Frames, Sampling};
use crate::progress::Progress;

/// Vectors that may wait to be computed; the frames of as many again may be decoded behind them.
const MAX_WAITING: usize = 32;

/// Two towers as one encoder; without the image tower it encodes texts only.
pub struct TwoTowers {
    id: EncoderId,
    image: Option<Box<dyn ImageTower>>,
    text: Box<dyn TextTower>,
    pub(super) decode: Decode,
}

impl TwoTowers {
    pub fn new(
        id: EncoderId,
        image: Option<Box<dyn ImageTower>>,
        text: Box<dyn TextTower>,
    ) -> Self {
        Self { id, image, text, decode: Decode::Exact }
    }
}

impl Encoder for TwoTowers {
    fn id(&self) -> &EncoderId {
        &self.id
    }

    fn encode_text(&self, texts: &[&str]) -> Result<Features> {
        self.text.encode(texts)
    }

    fn project_sentences(&self, sentences: &Features) -> Result<Option<Features>> {
        self.text.project(sentences)
    }

    fn encode_seconds(&self, video: &VideoInput, progress: &dyn Progress) -> Result<Seconds> {
        let seconds = video.seconds()?;
        let tower = self.image_tower().ok_or(PrecomputedError::TextsOnly)?;
        let FrameSpec { fps, width, height, fit, filter, frames, .. } = *tower.spec();
        progress.begin("looking", seconds as u64);
        let mut pending = Pending::new(tower, seconds);
        let decode = self.decode;
        let sampling = Sampling { fps: f64::from(fps), width, height, fit, filter, decode };
        // Decoding goes on while frames are encoded, but never far ahead of it.
        let (sender, receiver) = sync_channel(MAX_WAITING * frames);
        let frames = Frames::open(video.path, &sampling, progress)?;
        std::thread::scope(|scope| {
            // Once the receiver is gone, no more is decoded, and dropping the frames ends the process.
            scope.spawn(move || frames.map(|frame| sender.send(frame)).find(Result::is_err));
            loop {
                let next = match receiver.try_recv() {
                    Err(TryRecvError::Empty) => {
                        pending.catch_up(progress)?;
                        receiver.recv().ok()
                    }
                    next => next.ok(),
                };
                match next {
                    Some(frame) => pending.push(frame?, progress)?,
                    None => return pending.finish(progress),
                }
            }
        })
    }

    fn image_tower(&self) -> Option<&dyn ImageTower> {
        self.image.as_deref()
    }
}

/// The frames that wait to be encoded, and the sums of those that are.
struct Pending<'a> {
    tower: &'a dyn ImageTower,
    frames: usize,
    /// The second up to which progress is reported.
    reported: usize,
    waiting: Vec<Vec<u8>>,
    /// For each waiting vector the seconds of its frames, and of those that repeat its last one.
    seconds_of: Vec<Vec<usize>>,
    /// The frames of the last waiting vector.
    current: Vec<Grid>,
    last: Option<Grid>,
    differences: Vec<f32>,
    /// The sum of the vectors of each second.
    sums: Vec<f32>,
    /// The same of their appearance; zeros if the tower does not tell it.
    appearance: Vec<f32>,
    /// The sum of the brightness of each second's frames, and their number.
    brightness: Vec<([f32; GRID_CELLS], f32)>,
}

impl<'a> Pending<'a> {
    fn new(tower: &'a dyn ImageTower, seconds: usize) -> Self {
        Self {
            tower,
            frames: 0,
            reported: 0,
            waiting: Vec::new(),
            seconds_of: Vec::new(),
            current: Vec::new(),
            last: None,
            differences: Vec::new(),
            sums: vec![0.0; seconds * tower.spec().dim],
            appearance: vec![0.0; seconds * appearance::DIM],
            brightness: vec![([0.0; GRID_CELLS], 0.0); seconds],
        }
    }

    fn seconds(&self) -> usize {
        self.sums.len() / self.tower.spec().dim
    }

    /// Adds the next frame. If all frames of the last vector show the same, that vector counts again.
    fn push(&mut self, rgb: Vec<u8>, progress: &dyn Progress) -> Result<()> {
        let spec = self.tower.spec();
        let second = self.frames / spec.fps as usize;
        self.frames += 1;
        if second >= self.seconds() {
            return Ok(());
        }
        let grid = Grid::new(&rgb, spec);
        self.differences.extend(self.last.as_ref().map(|last| last.difference(&grid)));
        let (sums, count) = &mut self.brightness[second];
        sums.iter_mut().zip(grid.brightness()).for_each(|(sum, cell)| *sum += cell);
        *count += 1.0;
        let repeated = !spec.clips && self.complete() && self.current.iter().all(|g| g.same(&grid));
        match self.seconds_of.last_mut() {
            Some(seconds) if repeated => seconds.push(second),
            _ => self.keep(rgb, second, &grid),
        }
        self.last = Some(grid);
        if self.seconds_of.len() > MAX_WAITING { self.catch_up(progress) } else { Ok(()) }
    }

    fn batch(&self) -> usize {
        self.tower.spec().batch.clamp(1, MAX_WAITING)
    }

    /// Encodes what waits in whole batches, so that the result does not depend on how much happens to
    /// wait. The last vector stays: the next frame may repeat it.
    fn catch_up(&mut self, progress: &dyn Progress) -> Result<()> {
        let batch = self.batch();
        match self.seconds_of.len().saturating_sub(1) / batch {
            0 => Ok(()),
            batches => self.encode(batches * batch, progress),
        }
    }

    /// The mean brightness of all seconds; 0 where no frame was decoded.
    fn footage(&self) -> Footage {
        let mean = |(sums, count): &([f32; GRID_CELLS], f32)| {
            let count = count.max(1.0);
            sums.map(|sum| (sum / count).round() as u8)
        };
        Footage::new(self.brightness.iter().flat_map(mean).collect())
    }

    fn complete(&self) -> bool {
        self.waiting.len().is_multiple_of(self.tower.spec().frames)
    }

    /// Adds the frame to the last vector, or to a new one.
    fn keep(&mut self, rgb: Vec<u8>, second: usize, grid: &Grid) {
        if self.complete() {
            self.seconds_of.push(Vec::new());
            self.current.clear();
        }
        self.seconds_of.last_mut().into_iter().for_each(|seconds| seconds.push(second));
        self.waiting.push(rgb);
        self.current.push(grid.clone());
    }

    /// Encodes the first `vectors` in parallel and adds them to their seconds.
    fn encode(&mut self, vectors: usize, progress: &dyn Progress) -> Result<()> {
        progress.check()?;
        let frames = self.tower.spec().frames;
        let encode = |frames: &[Vec<u8>]| {
            let frames: Vec<&[u8]> = frames.iter().map(Vec::as_slice).collect();
            self.tower.encode(&frames)
        };
        let seen = self.waiting[..vectors * frames]
            .par_chunks(self.batch() * frames)
            .map(encode)
            .collect::<Result<Vec<Seen>, _>>()?;
        self.waiting.drain(..vectors * frames);
        let seconds_of: Vec<Vec<usize>> = self.seconds_of.drain(..vectors).collect();
        add_rows(&mut self.sums, seen.iter().map(|seen| &seen.features), &seconds_of);
        let appearance = seen.iter().filter_map(|seen| seen.appearance.as_ref());
        add_rows(&mut self.appearance, appearance, &seconds_of);
        let reached = seconds_of.last().and_then(|seconds| seconds.last()).copied();
        self.report(reached.unwrap_or(self.reported), progress);
        Ok(())
    }

    fn report(&mut self, reached: usize, progress: &dyn Progress) {
        progress.advance((reached - self.reported) as u64);
        self.reported = reached;
    }

    /// Encodes the rest. The last frame is repeated to complete the last vector.
    fn finish(mut self, progress: &dyn Progress) -> Result<Seconds> {
        let spec = *self.tower.spec();
        if let (false, Some(last)) = (self.complete(), self.waiting.last().cloned()) {
            self.waiting.resize(self.waiting.len().next_multiple_of(spec.frames), last);
        }
        self.encode(self.seconds_of.len(), progress)?;
        self.report(self.seconds(), progress);
        let at_ms = |frame: usize| frame as u64 * 1000 / u64::from(spec.fps);
        let shots = shots::shots(&self.differences).into_iter().map(at_ms).collect();
        let footage = self.footage();
        let features = Features::new(self.tower.spec().dim, self.sums)?;
        let appearance = match self.appearance.iter().all(|x| *x == 0.0) {
            true => appearance::reduced(&features),
            false => Features::new(appearance::DIM, self.appearance)?,
        };
        Ok(Seconds { features, appearance, shots, footage })
    }
}

/// Adds each row to the sums of its seconds.
fn add_rows<'a>(
    sums: &mut [f32],
    features: impl Iterator<Item = &'a Features>,
    seconds_of: &[Vec<usize>],
) {
    for (row, seconds) in features.flat_map(Features::rows).zip(seconds_of) {
        for second in seconds {
            let sum = &mut sums[second * row.len()..(second + 1) * row.len()];
            sum.iter_mut().zip(row).for_each(|(sum, x)| *sum += x);
        }
    }
}

#[cfg(test)]
mod tests {
    use std::sync::atomic::{AtomicUsize, Ordering};

    use super::*;
    use crate::media::frames::{Filter, Fit};
    use crate::progress::Silent;

    /// Sees how red and how green the pictures of a vector are, and counts what it was shown.
    struct Colours {
        spec: FrameSpec,
        seen: AtomicUsize,
    }

    impl Colours {
        fn new(frames: usize, clips: bool) -> Self {
            let one = FrameSpec::single((16, 16), Fit::Squash, Filter::Bilinear, 4, 2);
            Self { spec: FrameSpec { frames, clips, ..one }, seen: AtomicUsize::new(0) }
        }
    }

    impl ImageTower for Colours {
        fn spec(&self) -> &FrameSpec {
            &self.spec
        }

        fn encode(&self, pictures: &[&[u8]]) -> Result<Seen> {
            self.seen.fetch_add(pictures.len(), Ordering::Relaxed);
            let mean = |vector: &[&[u8]]| {
                [0, 1].map(|c| vector.iter().map(|p| f32::from(p[c])).sum::<f32>())
            };
            let rows = pictures.chunks(self.spec.frames).flat_map(mean).collect();
            Ok(Features::new(2, rows)?.into())
        }
    }

    fn view(tower: &Colours, seconds: usize, pictures: &[(u8, u8)]) -> Seconds {
        let mut pending = Pending::new(tower, seconds);
        for (red, green) in pictures {
            let rgb = [*red, *green, 0].repeat(256);
            pending.push(rgb, &Silent).unwrap();
        }
        pending.finish(&Silent).unwrap()
    }

    #[test]
    fn a_second_is_the_mean_of_its_pictures_and_a_still_picture_is_seen_once() {
        let tower = Colours::new(1, false);
        let mut pictures = vec![(200, 0); 10];
        pictures.extend([(0, 200); 4]);
        let seconds = view(&tower, 4, &pictures);
        assert_eq!(tower.seen.load(Ordering::Relaxed), 2);
        assert_eq!(seconds.features.row(0), [1.0, 0.0]);
        let half = 0.5f32.sqrt();
        assert!((seconds.features.row(2)[0] - half).abs() < 1e-6, "{:?}", seconds.features);
        assert_eq!(seconds.features.row(3), [0.0, 1.0]);
        assert_eq!(seconds.shots, [2500]);
    }

    #[test]
    fn many_different_pictures_are_all_seen_and_those_past_the_end_are_not() {
        let tower = Colours::new(1, false);
        let pictures: Vec<(u8, u8)> = (0..400).map(|i| ((i * 37 % 256) as u8, 90)).collect();
        let seconds = view(&tower, 90, &pictures);
        assert_eq!(seconds.features.len(), 90);
        assert_eq!(tower.seen.load(Ordering::Relaxed), 360);
    }

    /// Counts what it is told of.
    #[derive(Default)]
    struct Told(AtomicUsize);

    impl Progress for Told {
        fn advance(&self, units: u64) {
            self.0.fetch_add(units as usize, Ordering::Relaxed);
        }
    }

    #[test]
    fn when_pictures_are_encoded_changes_nothing() {
        let pictures: Vec<Vec<u8>> = (0..90u8).map(|i| [i / 3 * 8, 90, 0].repeat(256)).collect();
        for (frames, batch) in [(1, 1), (2, 1), (1, 3)] {
            let mut tower = Colours::new(frames, false);
            tower.spec.batch = batch;
            let seen = [1, 2, 7, 1000].map(|every| {
                let (told, mut pending) = (Told::default(), Pending::new(&tower, 20));
                for (number, rgb) in pictures.iter().enumerate() {
                    pending.push(rgb.clone(), &told).unwrap();
                    if number % every == 0 {
                        pending.catch_up(&told).unwrap();
                    }
                }
                let seconds = pending.finish(&told).unwrap();
                assert_eq!(told.0.into_inner(), 20, "of every second once");
                (seconds.features, seconds.shots, tower.seen.swap(0, Ordering::Relaxed))
            });
            assert!(seen.iter().all(|one| *one == seen[0]), "{seen:?}");
        }
    }

    #[test]
    fn towers_that_take_turns_both_see_what_stays() {
        let tower = Colours::new(2, false);
        // One picture of the first shot, then a shot that stands still.
        let seconds = view(&tower, 3, &[vec![(200, 0)], vec![(0, 200); 11]].concat());
        assert_eq!(tower.seen.load(Ordering::Relaxed), 4, "one of each shot, then twice the same");
        assert!(seconds.features.row(0)[0] > 0.1);
        assert_eq!(seconds.features.row(1), [0.0, 1.0]);
        assert_eq!(seconds.features.row(2), [0.0, 1.0]);
        let odd = view(&Colours::new(2, false), 1, &[(0, 100); 1]);
        assert_eq!(odd.features.row(0), [0.0, 1.0], "the last picture stays");
    }

    #[test]
    fn clips_take_their_pictures_together() {
        let tower = Colours::new(4, true);
        let seconds = view(&tower, 2, &[[(100, 0); 4], [(0, 100); 4]].concat());
        assert_eq!(tower.seen.load(Ordering::Relaxed), 8);
        assert_eq!(seconds.features.row(0), [1.0, 0.0]);
        assert_eq!(seconds.features.row(1), [0.0, 1.0]);
        let short = view(&Colours::new(4, true), 1, &[(0, 100); 3]);
        assert_eq!(short.features.row(0), [0.0, 1.0], "the last picture stays");
        assert_eq!(view(&tower, 3, &[]).features.row(2), [0.0, 0.0], "nothing was seen");
    }
}
