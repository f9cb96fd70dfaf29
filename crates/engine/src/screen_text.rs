//! Text that a video shows, as its narration where nobody speaks.

use std::path::Path;

use rayon::prelude::*;
use stitch_nn::ocr::{LineReader, Pixels, TextBox, TextDetector};
use stitch_nn::onnx::Graph;

use crate::encoder::pictures::Picture;
use crate::encoder::{EncoderError, onnx_runtime};
use crate::media::Probe;
use crate::media::frames::{Decode, Filter, Fit, Frames, Sampling};
use crate::models::Store;
use crate::progress::Progress;
use crate::transcript::{self, Caption, Sentence};

type Result<T, E = EncoderError> = std::result::Result<T, E>;

/// From one frame that is read to the next: nobody can read a step that is shown for a shorter time.
const EVERY_MS: u64 = 2000;
/// The longer side of these frames, in pixels: subtitles are about 15 pixels high.
const LONG_SIDE: u32 = 640;
/// Frames that are read at once.
const BATCH: usize = 16;
/// The minimum mean probability of a line's characters. Of what the detector takes for text in videos without text, lines
/// have 0.1 to 0.7, and drawn letters 0.95 and more.
const MIN_PROBABILITY: f32 = 0.8;
/// Two texts are one text that was read twice from this similarity on.
const SAME: f64 = 0.8;
/// In a video of this many frames, a line that is on more than half of them is a channel's name.
const LASTING_FRAMES: usize = 10;

/// A line on a frame.
#[derive(Clone, Debug, PartialEq)]
struct Line {
    place: TextBox,
    text: String,
}

pub struct ScreenTextReader {
    /// The folder, for the user.
    pub name: String,
    detector: TextDetector,
    reader: LineReader,
}

impl ScreenTextReader {
    /// The default model in the store.
    pub const MODEL: &str = "ppocr-v6";
    const DETECTOR: &str = "PP-OCRv6_det_small.onnx";
    const READER: &str = "PP-OCRv6_rec_small.onnx";

    pub fn load(folder: &Path, store: &Store) -> Result<Self> {
        let runtime = onnx_runtime(store)?;
        let graph = |file: &str| Graph::from_file(&runtime, &folder.join(file));
        Ok(Self {
            name: folder.file_name().unwrap_or_default().to_string_lossy().into_owned(),
            detector: TextDetector::new(graph(Self::DETECTOR)?),
            reader: LineReader::new(graph(Self::READER)?)?,
        })
    }

    /// What the video shows in letters, sentence by sentence.
    pub fn read(
        &self,
        path: &Path,
        probe: &Probe,
        progress: &dyn Progress,
    ) -> Result<Vec<Sentence>> {
        let (width, height) = frame_size(probe.width, probe.height);
        let (fps, fit, filter) = (1000.0 / EVERY_MS as f64, Fit::Squash, Filter::Bilinear);
        let sampling = Sampling { fps, width, height, fit, filter, decode: Decode::Fast };
        let mut frames = Frames::open(path, &sampling, progress)?;
        let mut lines = Vec::new();
        loop {
            let batch = frames.by_ref().take(BATCH).collect::<Result<Vec<_>, _>>()?;
            if batch.is_empty() {
                return Ok(sentences(&lines));
            }
            let read = batch.into_par_iter().map(|rgb| {
                progress.check()?;
                self.lines(Picture { width, height, rgb })
            });
            lines.extend(read.collect::<Result<Vec<_>>>()?);
        }
    }

    fn lines(&self, frame: Picture) -> Result<Vec<Line>> {
        let mut lines = Vec::new();
        for place in self.detector.detect(pixels(&frame))? {
            let (left, top) = (place.left as u32, place.top as u32);
            let (wide, high) = (place.right as u32 - left, place.bottom as u32 - top);
            let line_height = LineReader::HEIGHT as u32;
            let line_width = (wide * line_height).div_ceil(high).max(line_height / 2);
            let line = frame.part(left, top, wide, high);
            let line = line.resized(line_width, line_height, Filter::Bilinear);
            let read = self.reader.read(pixels(&line))?;
            if read.probability >= MIN_PROBABILITY && is_words(&read.text) {
                lines.push(Line { place, text: read.text });
            }
        }
        Ok(lines)
    }
}

fn pixels(picture: &Picture) -> Pixels<'_> {
    let (width, height) = (picture.width as usize, picture.height as usize);
    Pixels { width, height, rgb: &picture.rgb }
}

/// The frame's size, as the detector takes it.
fn frame_size(width: u32, height: u32) -> (u32, u32) {
    let (stride, long) = (TextDetector::STRIDE as u32, width.max(height).max(1));
    let side = |side: u32| {
        let scaled = u64::from(side) * u64::from(LONG_SIDE) / u64::from(long);
        (scaled as u32).next_multiple_of(stride).max(stride)
    };
    (side(width), side(height))
}

/// Whether there is a word of three letters: less is a number on a scale or a stain.
fn is_words(text: &str) -> bool {
    text.split(|c: char| !c.is_alphabetic()).any(|word| word.chars().count() >= 3)
}

/// Sentences of the lines on each frame.
fn sentences(frames: &[Vec<Line>]) -> Vec<Sentence> {
    let lasting = lasting(frames);
    let mut captions: Vec<(usize, usize, String)> = Vec::new(); // first frame, last frame, text
    for (frame, lines) in frames.iter().enumerate() {
        let passing =
            lines.iter().filter(|line| !lasting.iter().any(|text| same(text, &line.text)));
        for text in blocks(passing.cloned().collect()) {
            let is_shown = |(_, last, shown): &&mut (_, usize, String)| {
                *last + 1 >= frame && same(shown, &text)
            };
            match captions.iter_mut().rev().find(is_shown) {
                Some((_, last, _)) => *last = frame,
                None => captions.push((frame, frame, text)),
            }
        }
    }
    let caption = |(first, last, text): &(usize, usize, String)| {
        let (start, end) = (*first as u64 * EVERY_MS, (*last as u64 + 1) * EVERY_MS);
        Caption::plain(start, end, &as_sentence(text))
    };
    transcript::from_captions(captions.iter().map(caption).collect()).0
}

/// Lines that stay, such as the name of a channel.
fn lasting(frames: &[Vec<Line>]) -> Vec<String> {
    let mut lasting: Vec<(String, usize)> = Vec::new();
    if frames.len() < LASTING_FRAMES {
        return Vec::new();
    }
    for line in frames.iter().flatten() {
        match lasting.iter_mut().find(|(text, _)| same(text, &line.text)) {
            Some((_, count)) => *count += 1,
            None => lasting.push((line.text.clone(), 1)),
        }
    }
    lasting.retain(|(_, count)| 2 * count > frames.len());
    lasting.into_iter().map(|(text, _)| text).collect()
}

fn same(a: &str, b: &str) -> bool {
    a == b || strsim::normalized_levenshtein(&a.to_lowercase(), &b.to_lowercase()) >= SAME
}

/// The texts of a frame: lines below each other are one text.
fn blocks(mut lines: Vec<Line>) -> Vec<String> {
    lines.sort_by_key(|line| (line.place.top, line.place.left));
    let mut blocks: Vec<(TextBox, String)> = Vec::new();
    for Line { place, text } in lines {
        let high = place.bottom - place.top;
        let goes_on = |(above, _): &&mut (TextBox, String)| {
            let overlap = above.left < place.right && place.left < above.right;
            overlap && place.top < above.bottom + high / 2
        };
        match blocks.iter_mut().rev().find(goes_on) {
            Some((above, so_far)) => {
                *above = place;
                so_far.push(' ');
                so_far.push_str(&text);
            }
            None => blocks.push((place, text)),
        }
    }
    blocks.into_iter().map(|(_, text)| text).collect()
}

/// With a full stop, not all in capitals, and without specks at its ends that were read as quotes.
fn as_sentence(text: &str) -> String {
    let text = text.trim_matches(|c: char| c.is_whitespace() || "'\"`|".contains(c));
    let mut sentence = match text.chars().any(char::is_lowercase) {
        true => text.to_owned(),
        false => {
            let lower = text.to_lowercase();
            let first: String = lower.chars().take(1).flat_map(char::to_uppercase).collect();
            first + &lower.chars().skip(1).collect::<String>()
        }
    };
    if sentence.ends_with(char::is_alphanumeric) {
        sentence.push('.');
    }
    sentence
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Lines of text below each other from this row on.
    fn shown(top: usize, texts: &[&str]) -> Vec<Line> {
        let line = |(i, text): (usize, &&str)| {
            let top = top + 22 * i;
            let place = TextBox { left: 100, top, right: 500, bottom: top + 20 };
            Line { place, text: (*text).into() }
        };
        texts.iter().enumerate().map(line).collect()
    }

    fn told(frames: &[Vec<Line>]) -> Vec<(u64, u64, String)> {
        let told = sentences(frames).into_iter();
        told.map(|sentence| (sentence.start_ms, sentence.end_ms, sentence.text)).collect()
    }

    #[test]
    fn a_text_lasts_from_its_first_frame_to_its_last() {
        let (chop, fry) = (shown(300, &["CHOP THE", "ONIONS'"]), shown(300, &["Fry them gently"]));
        let misread = shown(300, &["CH0P THE", "ONIONS"]);
        let told = told(&[vec![], chop, misread, fry.clone(), fry, vec![]]);
        let expected = [
            (2000, 6000, "Chop the onions.".to_owned()),
            (6000, 10_000, "Fry them gently.".into()),
        ];
        assert_eq!(told, expected);
    }

    #[test]
    fn what_stays_on_the_screen_is_no_narration() {
        let channel = || shown(10, &["Grandma's kitchen"]);
        let step = |frame: usize| match frame % 4 {
            0 => shown(300, &["Peel the potatoes"]),
            2 => shown(300, &["Wash the carrots well"]),
            _ => Vec::new(),
        };
        let frames: Vec<_> = (0..16).map(|frame| [channel(), step(frame)].concat()).collect();
        let told = told(&frames);
        assert!(
            told.len() == 8 && told.iter().all(|(.., text)| !text.contains("kitchen")),
            "{told:?}"
        );
    }

    #[test]
    fn texts_apart_are_two_texts() {
        let frame = [shown(20, &["You need two eggs"]), shown(300, &["Beat the eggs"])].concat();
        assert_eq!(blocks(frame), ["You need two eggs", "Beat the eggs"]);
    }

    #[test]
    fn a_number_is_no_text() {
        assert!(!is_words("200 g") && !is_words("//-.") && is_words("2 eggs"));
    }

    #[test]
    fn frames_keep_their_shape_in_multiples_of_the_stride() {
        assert_eq!(frame_size(1920, 1080), (640, 384));
        assert_eq!(frame_size(1080, 1920), (384, 640));
        assert_eq!(frame_size(4000, 2), (640, 32));
        assert_eq!(frame_size(0, 0), (32, 32));
    }
}
