//! An encoder made of a tower that sees and a tower that reads: a second of a video is the mean of
//! what is seen in it.
//!
//! Pictures come from one decoding process. Whenever none is ready, those that wait are encoded, on as
//! many cores as they are enough for: neither side waits for the other while it has work, and memory is
//! bounded whatever the length.

use std::sync::mpsc::{TryRecvError, sync_channel};

use rayon::prelude::*;
use stitch_core::features::Features;

use super::tower::{ImageTower, TextTower};
use super::wants::{Filter, Fit};
use super::watch::{self, Glance};
use super::{Encoder, EncoderError, EncoderId, Seconds, VideoInput};
use crate::footage::{Footage, NUMBERS};
use crate::media::{Decode, Frames, Sampling};
use crate::progress::Progress;

/// The most vectors that wait to be made; the pictures of as many again may lie decoded behind them.
const TURN: usize = 32;

/// Two towers as one encoder.
pub struct TwoTowers {
    id: EncoderId,
    image: Box<dyn ImageTower>,
    text: Box<dyn TextTower>,
    decode: Decode,
}

impl TwoTowers {
    pub fn new(id: EncoderId, image: Box<dyn ImageTower>, text: Box<dyn TextTower>) -> Self {
        Self { id, image, text, decode: Decode::Exact }
    }

    pub fn with_decode(mut self, decode: Decode) -> Self {
        self.decode = decode;
        self
    }

    fn sampling(&self) -> Sampling {
        let wants = self.image.wants();
        Sampling {
            fps: f64::from(wants.fps),
            width: wants.width,
            height: wants.height,
            crop: wants.fit == Fit::Crop,
            smooth: wants.filter == Filter::Bilinear,
            decode: self.decode,
        }
    }
}

impl Encoder for TwoTowers {
    fn id(&self) -> &EncoderId {
        &self.id
    }

    fn encode_text(&self, texts: &[&str]) -> Result<Features, EncoderError> {
        self.text.read(texts)
    }

    fn project_sentences(&self, sentences: &Features) -> Result<Option<Features>, EncoderError> {
        self.text.project(sentences)
    }

    fn encode_seconds(
        &self,
        video: &VideoInput,
        progress: &dyn Progress,
    ) -> Result<Seconds, EncoderError> {
        let seconds = video.seconds()?;
        progress.begin("looking", seconds as u64);
        let mut viewing = Viewing::new(self.image.as_ref(), seconds);
        let frames = Frames::open(video.path, &self.sampling())?;
        // Decoding goes on while pictures are encoded, but never far ahead of it.
        let (sender, receiver) = sync_channel(TURN * self.image.wants().frames);
        std::thread::scope(|scope| {
            // Once the receiver is gone, no more is decoded, and dropping the frames ends the process.
            scope.spawn(move || frames.map(|frame| sender.send(frame)).find(Result::is_err));
            loop {
                let next = match receiver.try_recv() {
                    Err(TryRecvError::Empty) => {
                        viewing.catch_up(progress)?;
                        receiver.recv().ok()
                    }
                    next => next.ok(),
                };
                match next {
                    Some(frame) => viewing.show(frame?.rgb, progress)?,
                    None => return viewing.finish(progress),
                }
            }
        })
    }

    fn image_tower(&self) -> Option<&dyn ImageTower> {
        Some(self.image.as_ref())
    }
}

/// What was seen so far.
struct Viewing<'a> {
    tower: &'a dyn ImageTower,
    /// How many pictures were shown, and which second is encoded already.
    shown: usize,
    reached: usize,
    waiting: Vec<Vec<u8>>,
    /// For each vector that is not made yet, the seconds of its pictures, and of those that showed the
    /// same as its last one.
    of: Vec<Vec<usize>>,
    /// The pictures of the last vector that waits, and the last one shown.
    kept: Vec<Glance>,
    last: Option<Glance>,
    differences: Vec<f32>,
    /// The sum of the vectors of each second.
    sums: Vec<f32>,
    /// The sum of the brightness of each second's pictures, and how many they are.
    bright: Vec<([f32; NUMBERS], f32)>,
}

impl<'a> Viewing<'a> {
    fn new(tower: &'a dyn ImageTower, seconds: usize) -> Self {
        Self {
            tower,
            shown: 0,
            reached: 0,
            waiting: Vec::new(),
            of: Vec::new(),
            kept: Vec::new(),
            last: None,
            differences: Vec::new(),
            sums: vec![0.0; seconds * tower.dim()],
            bright: vec![([0.0; NUMBERS], 0.0); seconds],
        }
    }

    fn seconds(&self) -> usize {
        self.sums.len() / self.tower.dim()
    }

    /// The next picture. Where all pictures of a vector show the same as it, it counts as that vector
    /// again.
    fn show(&mut self, rgb: Vec<u8>, progress: &dyn Progress) -> Result<(), EncoderError> {
        let wants = self.tower.wants();
        let second = self.shown / wants.fps as usize;
        self.shown += 1;
        if second >= self.seconds() {
            return Ok(());
        }
        let glance = Glance::at(&rgb, wants);
        self.differences.extend(self.last.as_ref().map(|last| last.difference(&glance)));
        self.glimpse(second, &glance);
        let stays =
            !wants.together && self.whole() && self.kept.iter().all(|kept| kept.same(&glance));
        match self.of.last_mut() {
            Some(seconds) if stays => seconds.push(second),
            _ => self.keep(rgb, second, &glance),
        }
        self.last = Some(glance);
        if self.of.len() > TURN { self.catch_up(progress) } else { Ok(()) }
    }

    fn batch(&self) -> usize {
        self.tower.wants().batch.clamp(1, TURN)
    }

    /// Encodes what waits, in whole batches, so that what comes out does not depend on how much happened
    /// to wait. The last vector stays: the next picture may show the same.
    fn catch_up(&mut self, progress: &dyn Progress) -> Result<(), EncoderError> {
        let batch = self.batch();
        match self.of.len().saturating_sub(1) / batch {
            0 => Ok(()),
            batches => self.encode(batches * batch, progress),
        }
    }

    /// Remembers what the second looks like.
    fn glimpse(&mut self, second: usize, glance: &Glance) {
        let (sums, pictures) = &mut self.bright[second];
        sums.iter_mut().zip(glance.brightness()).for_each(|(sum, square)| *sum += square);
        *pictures += 1.0;
    }

    /// What all seconds look like; one in which nothing was seen looks black.
    fn footage(&self) -> Footage {
        let mean = |(sums, pictures): &([f32; NUMBERS], f32)| {
            let pictures = pictures.max(1.0);
            sums.map(|sum| (sum / pictures).round() as u8)
        };
        Footage::new(self.bright.iter().flat_map(mean).collect())
    }

    fn whole(&self) -> bool {
        self.waiting.len().is_multiple_of(self.tower.wants().frames)
    }

    /// Lets the picture wait to be encoded: alone, or with those after it.
    fn keep(&mut self, rgb: Vec<u8>, second: usize, glance: &Glance) {
        if self.whole() {
            self.of.push(Vec::new());
            self.kept.clear();
        }
        self.of.last_mut().into_iter().for_each(|seconds| seconds.push(second));
        self.waiting.push(rgb);
        self.kept.push(glance.clone());
    }

    /// Encodes the first `vectors` that wait, on all cores, and adds them to their seconds.
    fn encode(&mut self, vectors: usize, progress: &dyn Progress) -> Result<(), EncoderError> {
        progress.check()?;
        let frames = self.tower.wants().frames;
        let see = |pictures: &[Vec<u8>]| {
            let pictures: Vec<&[u8]> = pictures.iter().map(Vec::as_slice).collect();
            self.tower.see(&pictures)
        };
        let rows = self.waiting[..vectors * frames]
            .par_chunks(self.batch() * frames)
            .map(see)
            .collect::<Result<Vec<Features>, _>>()?;
        self.waiting.drain(..vectors * frames);
        let of: Vec<Vec<usize>> = self.of.drain(..vectors).collect();
        let dim = self.tower.dim();
        for (row, seconds) in rows.iter().flat_map(Features::rows).zip(&of) {
            for second in seconds {
                let sum = &mut self.sums[second * dim..(second + 1) * dim];
                sum.iter_mut().zip(row).for_each(|(sum, x)| *sum += x);
            }
        }
        let reached = of.last().and_then(|seconds| seconds.last()).copied();
        self.tell(reached.unwrap_or(self.reached), progress);
        Ok(())
    }

    /// Tells of the seconds that are behind now.
    fn tell(&mut self, reached: usize, progress: &dyn Progress) {
        progress.advance((reached - self.reached) as u64);
        self.reached = reached;
    }

    /// Encodes what still waits. Where a vector is cut short by the end, its last picture stays.
    fn finish(mut self, progress: &dyn Progress) -> Result<Seconds, EncoderError> {
        let wants = *self.tower.wants();
        if let (false, Some(last)) = (self.whole(), self.waiting.last().cloned()) {
            self.waiting.resize(self.waiting.len().next_multiple_of(wants.frames), last);
        }
        self.encode(self.of.len(), progress)?;
        self.tell(self.seconds(), progress);
        let at_ms = |picture: usize| picture as u64 * 1000 / u64::from(wants.fps);
        let shots = watch::shots(&self.differences).into_iter().map(at_ms).collect();
        let footage = self.footage();
        Ok(Seconds { features: Features::new(self.tower.dim(), self.sums)?, shots, footage })
    }
}

#[cfg(test)]
mod tests {
    use std::sync::atomic::{AtomicUsize, Ordering};

    use super::super::wants::Wants;
    use super::*;
    use crate::progress::Silent;

    /// Sees how red and how green the pictures of a vector are, and counts what it was shown.
    struct Colours {
        wants: Wants,
        seen: AtomicUsize,
    }

    impl Colours {
        fn new(frames: usize, together: bool) -> Self {
            let one = Wants::pictures((16, 16), Fit::Squash, Filter::Bilinear, 4);
            Self { wants: Wants { frames, together, ..one }, seen: AtomicUsize::new(0) }
        }
    }

    impl ImageTower for Colours {
        fn wants(&self) -> &Wants {
            &self.wants
        }

        fn dim(&self) -> usize {
            2
        }

        fn see(&self, pictures: &[&[u8]]) -> Result<Features, EncoderError> {
            self.seen.fetch_add(pictures.len(), Ordering::Relaxed);
            let mean = |vector: &[&[u8]]| {
                [0, 1].map(|c| vector.iter().map(|p| f32::from(p[c])).sum::<f32>())
            };
            let rows = pictures.chunks(self.wants.frames).flat_map(mean).collect();
            Ok(Features::new(2, rows)?)
        }
    }

    fn view(tower: &Colours, seconds: usize, pictures: &[(u8, u8)]) -> Seconds {
        let mut viewing = Viewing::new(tower, seconds);
        for (red, green) in pictures {
            let rgb = [*red, *green, 0].repeat(256);
            viewing.show(rgb, &Silent).unwrap();
        }
        viewing.finish(&Silent).unwrap()
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
        fn begin(&self, _stage: &str, _total: u64) {}
        fn advance(&self, units: u64) {
            self.0.fetch_add(units as usize, Ordering::Relaxed);
        }
        fn warn(&self, _message: &str) {}
    }

    #[test]
    fn when_pictures_are_encoded_changes_nothing() {
        let pictures: Vec<Vec<u8>> = (0..90u8).map(|i| [i / 3 * 8, 90, 0].repeat(256)).collect();
        for (frames, batch) in [(1, 1), (2, 1), (1, 3)] {
            let mut tower = Colours::new(frames, false);
            tower.wants.batch = batch;
            let seen = [1, 2, 7, 1000].map(|every| {
                let (told, mut viewing) = (Told::default(), Viewing::new(&tower, 20));
                for (number, rgb) in pictures.iter().enumerate() {
                    viewing.show(rgb.clone(), &told).unwrap();
                    if number % every == 0 {
                        viewing.catch_up(&told).unwrap();
                    }
                }
                let seconds = viewing.finish(&told).unwrap();
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
