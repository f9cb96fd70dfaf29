//! Text in pictures, by the two graphs of PP-OCR: one marks where there is text, the other reads a line.

use crate::error::{NnError, Result};
use crate::onnx::{Graph, Input, Output};

/// Rows of red, green, blue bytes.
#[derive(Clone, Copy)]
pub struct Pixels<'a> {
    pub width: usize,
    pub height: usize,
    pub rgb: &'a [u8],
}

impl Pixels<'_> {
    /// [blue, green, red; height; width] from -1 to 1, as OpenCV's users train; zeros on the right up to `width`.
    fn tensor(&self, width: usize) -> Vec<f32> {
        let mut tensor = vec![0.0; 3 * self.height * width];
        for (i, pixel) in self.rgb.chunks_exact(3).enumerate() {
            let at = i / self.width * width + i % self.width;
            for (channel, value) in pixel.iter().rev().enumerate() {
                tensor[channel * self.height * width + at] = f32::from(*value) / 127.5 - 1.0;
            }
        }
        tensor
    }
}

/// A rectangle of pixels; `right` and `bottom` are outside.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct TextBox {
    pub left: usize,
    pub top: usize,
    pub right: usize,
    pub bottom: usize,
}

/// Differentiable binarization: the probability of text at each pixel, then its connected parts.
pub struct TextDetector {
    graph: Graph,
}

impl TextDetector {
    /// The sides of a picture are multiples of this.
    pub const STRIDE: usize = 32;
    /// As the model's authors set them: the probability of a pixel, the mean of a part, and by how much a part is widened,
    /// since the model marks the middle of letters.
    const PIXEL: f32 = 0.3;
    const PART: f32 = 0.5;
    const WIDENED: f32 = 1.6;
    /// The shortest side of a part that is letters, in pixels.
    const MIN_SIDE: usize = 4;

    pub fn new(graph: Graph) -> Self {
        Self { graph }
    }

    /// Where there is text, from top to bottom.
    pub fn detect(&self, picture: Pixels<'_>) -> Result<Vec<TextBox>> {
        let (width, height) = (picture.width, picture.height);
        let tensor = picture.tensor(width);
        let (input, output) = (self.graph.input(None, &["x"])?, self.graph.output(None, &[])?);
        let input = (input.name.as_str(), Input::Floats(&[1, 3, height, width], &tensor));
        let map = self.graph.run(&[input], &output.name)?; // [1, 1, height, width]
        match map.data.len() == width * height {
            true => Ok(boxes(&map.data, width)),
            false => Err(self.graph.failed(format!("its map has the shape {:?}", map.shape))),
        }
    }
}

/// The boxes of the connected parts of a map of probabilities, from top to bottom.
fn boxes(map: &[f32], width: usize) -> Vec<TextBox> {
    let mut seen: Vec<bool> = map.iter().map(|p| *p <= TextDetector::PIXEL).collect();
    let mut found = Vec::new();
    for start in 0..map.len() {
        if !seen[start] {
            found.extend(text_box(&part(start, width, &mut seen), map, width));
        }
    }
    found.sort_by_key(|found: &TextBox| (found.top, found.left));
    found
}

/// The pixels connected to this one; they are seen afterwards.
fn part(start: usize, width: usize, seen: &mut [bool]) -> Vec<usize> {
    let mut pixels = vec![start];
    seen[start] = true;
    let mut next = 0;
    while let Some(&at) = pixels.get(next) {
        next += 1;
        let left = (at % width > 0).then(|| at - 1);
        let right = ((at + 1) % width > 0).then_some(at + 1);
        for near in [left, right, at.checked_sub(width), Some(at + width)].into_iter().flatten() {
            if seen.get(near) == Some(&false) {
                seen[near] = true;
                pixels.push(near);
            }
        }
    }
    pixels
}

/// The widened box of a part; none if it is no text.
fn text_box(part: &[usize], map: &[f32], width: usize) -> Option<TextBox> {
    let mean = part.iter().map(|at| map[*at]).sum::<f32>() / part.len() as f32;
    let columns = part.iter().map(|at| at % width);
    let rows = part.iter().map(|at| at / width);
    let (left, right) = (columns.clone().min()?, columns.max()? + 1);
    let (top, bottom) = (rows.clone().min()?, rows.max()? + 1);
    let (wide, high) = (right - left, bottom - top);
    let margin = (wide * high) as f32 * TextDetector::WIDENED / (2 * (wide + high)) as f32;
    let margin = margin as usize;
    let found = TextBox {
        left: left.saturating_sub(margin),
        top: top.saturating_sub(margin),
        right: (right + margin).min(width),
        bottom: (bottom + margin).min(map.len() / width),
    };
    (mean >= TextDetector::PART && wide.min(high) >= TextDetector::MIN_SIDE).then_some(found)
}

/// What a line says.
#[derive(Clone, Debug, PartialEq)]
pub struct ReadLine {
    pub text: String,
    /// The mean probability of its characters.
    pub probability: f32,
}

/// Connectionist temporal classification: a character or a blank for every few columns.
pub struct LineReader {
    graph: Graph,
    /// By index; the first is the blank.
    characters: Vec<String>,
}

impl LineReader {
    /// The height of a line in pixels.
    pub const HEIGHT: usize = 48;
    /// Shorter lines get an empty end.
    const MIN_WIDTH: usize = 320;

    /// The graph names its characters.
    pub fn new(graph: Graph) -> Result<Self> {
        let named = graph.property("character")?;
        let named = named.ok_or_else(|| graph.failed("it does not name its characters".into()))?;
        let characters = named.lines().map(str::to_owned);
        let characters = std::iter::once(String::new()).chain(characters).chain([" ".into()]);
        Ok(Self { characters: characters.collect(), graph })
    }

    /// Reads a picture of [`Self::HEIGHT`] rows.
    pub fn read(&self, line: Pixels<'_>) -> Result<ReadLine> {
        let width = line.width.max(Self::MIN_WIDTH);
        let tensor = line.tensor(width);
        let (input, output) = (self.graph.input(None, &["x"])?, self.graph.output(None, &[])?);
        let input = (input.name.as_str(), Input::Floats(&[1, 3, line.height, width], &tensor));
        let Output { shape, data } = self.graph.run(&[input], &output.name)?; // [1, columns, characters]
        match shape.last() {
            Some(count) if *count == self.characters.len() => Ok(decode(&data, &self.characters)),
            _ => Err(self.graph.failed(format!(
                "it names {} characters, but its output has the shape {shape:?}",
                self.characters.len()
            ))),
        }
    }
}

/// The best character of each column, without repetitions and blanks.
fn decode(columns: &[f32], characters: &[String]) -> ReadLine {
    let best = |column: &[f32]| {
        let better = |a: (usize, f32), b: (usize, f32)| if b.1 > a.1 { b } else { a };
        column.iter().copied().enumerate().fold((0, f32::MIN), better)
    };
    let (mut text, mut sum, mut count, mut last) = (String::new(), 0.0, 0, 0);
    for (index, probability) in columns.chunks_exact(characters.len()).map(best) {
        if index != 0 && index != last {
            text.push_str(&characters[index]);
            sum += probability;
            count += 1;
        }
        last = index;
    }
    ReadLine { text, probability: sum / count.max(1) as f32 }
}

impl Graph {
    fn failed(&self, reason: String) -> NnError {
        NnError::GraphRun { graph: self.name().to_owned(), reason }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    /// A map with these rectangles of probability 0.9.
    fn map(width: usize, height: usize, rectangles: &[TextBox]) -> Vec<f32> {
        let inside = |x: usize, y: usize| {
            let is_in =
                |r: &TextBox| (r.left..r.right).contains(&x) && (r.top..r.bottom).contains(&y);
            rectangles.iter().any(is_in)
        };
        (0..width * height).map(|i| if inside(i % width, i / width) { 0.9 } else { 0.1 }).collect()
    }

    #[test]
    fn boxes_are_widened_and_come_from_top_to_bottom() {
        let low = TextBox { left: 20, top: 40, right: 60, bottom: 50 };
        let high = TextBox { left: 30, top: 10, right: 50, bottom: 20 };
        let speck = TextBox { left: 5, top: 60, right: 8, bottom: 62 };
        let found = boxes(&map(64, 64, &[low, high, speck]), 64);
        let widened = |r: &TextBox, by: usize| TextBox {
            left: r.left - by,
            top: r.top - by,
            right: (r.right + by).min(64),
            bottom: r.bottom + by,
        };
        assert_eq!(found, [widened(&high, 5), widened(&low, 6)]);
    }

    #[test]
    fn a_part_of_low_probability_is_no_text() {
        assert_eq!(boxes(&[0.4; 32 * 32], 32), []);
    }

    #[test]
    fn a_double_letter_needs_a_blank_between() {
        let characters: Vec<String> = ["", "e", "g"].map(str::to_owned).to_vec();
        let columns: Vec<f32> = [1, 1, 0, 2, 2, 0, 2]
            .iter()
            .flat_map(|best| (0..3).map(move |i| if i == *best { 0.8 } else { 0.1 }))
            .collect();
        let read = decode(&columns, &characters);
        assert_eq!(read.text, "egg");
        assert!((read.probability - 0.8).abs() < 1e-6);
        assert_eq!(decode(&[], &characters), ReadLine { text: String::new(), probability: 0.0 });
    }

    proptest! {
        /// The parts are those that repeated spreading finds.
        #[test]
        fn parts_are_connected_and_complete(bits in proptest::collection::vec(any::<bool>(), 7 * 9)) {
            let width = 7;
            let touches = |a: usize, b: usize| {
                let (dx, dy) = ((a % width).abs_diff(b % width), (a / width).abs_diff(b / width));
                dx + dy == 1
            };
            let mut label: Vec<usize> = (0..bits.len()).collect();
            for _ in 0..bits.len() {
                for a in 0..bits.len() {
                    for b in (0..bits.len()).filter(|b| bits[a] && bits[*b] && touches(a, *b)) {
                        label[a] = label[a].min(label[b]);
                    }
                }
            }
            let mut seen: Vec<bool> = bits.iter().map(|bit| !bit).collect();
            for start in (0..bits.len()).filter(|at| bits[*at]) {
                if seen[start] {
                    continue;
                }
                let mut found = part(start, width, &mut seen);
                found.sort_unstable();
                let same = |at: &usize| bits[*at] && label[*at] == label[start];
                prop_assert_eq!(found, (0..bits.len()).filter(same).collect::<Vec<_>>());
            }
        }
    }
}
