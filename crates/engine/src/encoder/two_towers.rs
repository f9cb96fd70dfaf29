//! An encoder made of a tower that sees and a tower that reads: a second of a video is the mean of
//! what is seen in it.
//!
//! Pictures come from one decoding process while those before them are encoded on all cores, in
//! bounded memory whatever the length.

use std::sync::mpsc::sync_channel;

use rayon::prelude::*;
use stitch_core::features::Features;

use super::tower::{Filter, Fit, ImageTower, TextTower};
use super::watch::{self, Glance};
use super::{Encoder, EncoderError, EncoderId, Seconds, VideoInput};
use crate::media::{Decode, Frames, Sampling};
use crate::progress::Progress;

/// Vectors made in one turn, while the next pictures are decoded.
const TURN: usize = 32;
/// Vectors made at once on one core.
const AT_ONCE: usize = 4;

/// Two towers as one encoder.
pub struct TwoTowers {
    id: EncoderId,
    image: Box<dyn ImageTower>,
    text: Box<dyn TextTower>,
    decode: Decode,
}

impl TwoTowers {
    /// Joins the towers.
    pub fn new(id: EncoderId, image: Box<dyn ImageTower>, text: Box<dyn TextTower>) -> Self {
        Self { id, image, text, decode: Decode::Exact }
    }

    /// Decodes less, for speed.
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
        let (sender, receiver) = sync_channel(TURN);
        std::thread::scope(|scope| {
            // Once the receiver is gone, no more is decoded, and dropping the frames ends the process.
            scope.spawn(move || frames.map(|frame| sender.send(frame)).find(Result::is_err));
            for frame in receiver {
                viewing.show(frame?.rgb, progress)?;
            }
            viewing.finish(progress)
        })
    }

    fn image_tower(&self) -> Option<&dyn ImageTower> {
        Some(self.image.as_ref())
    }
}

/// What was seen so far.
struct Viewing<'a> {
    tower: &'a dyn ImageTower,
    /// How many pictures were shown.
    shown: usize,
    /// Pictures not encoded yet.
    waiting: Vec<Vec<u8>>,
    /// For each vector that is not made yet, the seconds it is of: several, where the picture stays.
    of: Vec<Vec<usize>>,
    /// The last picture that was kept, and the last one shown.
    kept: Option<Glance>,
    last: Option<Glance>,
    differences: Vec<f32>,
    /// The sum of the vectors of each second.
    sums: Vec<f32>,
}

impl<'a> Viewing<'a> {
    fn new(tower: &'a dyn ImageTower, seconds: usize) -> Self {
        Self {
            tower,
            shown: 0,
            waiting: Vec::new(),
            of: Vec::new(),
            kept: None,
            last: None,
            differences: Vec::new(),
            sums: vec![0.0; seconds * tower.dim()],
        }
    }

    fn seconds(&self) -> usize {
        self.sums.len() / self.tower.dim()
    }

    /// The next picture. One that shows the same as the last one kept counts as that one again.
    fn show(&mut self, rgb: Vec<u8>, progress: &dyn Progress) -> Result<(), EncoderError> {
        let wants = self.tower.wants();
        let second = self.shown / wants.fps as usize;
        self.shown += 1;
        if second >= self.seconds() {
            return Ok(());
        }
        let glance = Glance::at(&rgb, wants);
        self.differences.extend(self.last.as_ref().map(|last| last.difference(&glance)));
        let stays = wants.frames == 1 && self.kept.as_ref().is_some_and(|kept| kept.same(&glance));
        match self.of.last_mut() {
            Some(seconds) if stays => seconds.push(second),
            _ => self.keep(rgb, second, &glance),
        }
        self.last = Some(glance);
        if self.of.len() > TURN {
            self.encode(TURN, progress)?;
        }
        Ok(())
    }

    /// Lets the picture wait to be encoded: alone, or with those after it.
    fn keep(&mut self, rgb: Vec<u8>, second: usize, glance: &Glance) {
        if self.waiting.len().is_multiple_of(self.tower.wants().frames) {
            self.of.push(vec![second]);
        }
        self.waiting.push(rgb);
        self.kept = Some(glance.clone());
    }

    /// Encodes the first `vectors` that wait, on all cores, and adds them to their seconds. The last
    /// one always stays: the next picture may show the same.
    fn encode(&mut self, vectors: usize, progress: &dyn Progress) -> Result<(), EncoderError> {
        progress.check()?;
        let frames = self.tower.wants().frames;
        let pictures: Vec<&[u8]> =
            self.waiting[..vectors * frames].iter().map(|p| &p[..]).collect();
        let rows = pictures
            .par_chunks(AT_ONCE * frames)
            .map(|pictures| self.tower.see(pictures))
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
        let from = of.first().and_then(|seconds| seconds.first()).unwrap_or(&0);
        let to = of.last().and_then(|seconds| seconds.last()).unwrap_or(&0);
        progress.advance((to - from) as u64);
        Ok(())
    }

    /// Encodes what still waits. A clip that is cut short by the end is left out, unless it is all
    /// there is; then its last picture stays.
    fn finish(mut self, progress: &dyn Progress) -> Result<Seconds, EncoderError> {
        let wants = *self.tower.wants();
        let whole = self.waiting.len() / wants.frames;
        if let (0, Some(last)) = (whole, self.waiting.last().cloned()) {
            self.waiting.resize(wants.frames, last);
        }
        self.encode(self.waiting.len() / wants.frames, progress)?;
        let at_ms = |picture: usize| picture as u64 * 1000 / u64::from(wants.fps);
        let shots = watch::shots(&self.differences).into_iter().map(at_ms).collect();
        Ok(Seconds { features: Features::new(self.tower.dim(), self.sums)?, shots })
    }
}
