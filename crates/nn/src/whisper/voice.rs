//! Whether somebody speaks: the share of speech in each 32 ms, by the small network of Silero VAD
//! (MIT), whose weights are part of the program.

use safetensors::SafeTensors;
use safetensors::tensor::Dtype;

use super::layers::{After, Rows, Wide};
use crate::kernels::{self, vectorised};

/// Samples of one block.
pub const BLOCK: usize = 512;
/// Samples before a block that the network sees too.
const BEFORE: usize = 64;
/// Samples under one transform, and from one to the next.
const SPAN: usize = 256;
const HOP: usize = 128;
/// Transforms of one block.
const COLUMNS: usize = 4;
/// Frequencies of one transform.
const BINS: usize = 129;
/// Numbers that the network remembers from block to block.
const MEMORY: usize = 128;

static WEIGHTS: &[u8] = include_bytes!("../../assets/voice/silero.safetensors");

/// The network, and what it remembers of the sound so far.
pub struct Voice {
    waves: Wide,
    convolutions: [Convolution; 4],
    input: Wide,
    memory: Wide,
    last: Wide,
    state: Vec<f32>,
    cell: Vec<f32>,
    before: Vec<f32>,
}

struct Convolution {
    layer: Wide,
    into: usize,
    stride: usize,
}

impl Default for Voice {
    fn default() -> Self {
        Self::new()
    }
}

impl Voice {
    /// The network before any sound.
    pub fn new() -> Self {
        // A test loads these very bytes, so it cannot fail for a user.
        let tensors = SafeTensors::deserialize(WEIGHTS).expect("the shipped weights are whole");
        let numbers = |name: &str| numbers(&tensors, name);
        let convolution = |name: &str, into: usize, stride: usize| {
            let weight = taps_first(&numbers(&format!("{name}.weight")), into);
            let layer = Wide::new(weight, Some(numbers(&format!("{name}.bias"))), 3 * into);
            Convolution { layer, into, stride }
        };
        let recurrent = |half: &str| {
            let weight = numbers(&format!("lstm_cell.weight_{half}"));
            Wide::new(weight, Some(numbers(&format!("lstm_cell.bias_{half}"))), MEMORY)
        };
        Self {
            waves: Wide::new(numbers("stft_conv.weight"), None, SPAN),
            convolutions: [
                convolution("conv1", BINS, 1),
                convolution("conv2", 128, 2),
                convolution("conv3", 64, 2),
                convolution("conv4", 64, 1),
            ],
            input: recurrent("ih"),
            memory: recurrent("hh"),
            last: Wide::new(numbers("final_conv.weight"), Some(numbers("final_conv.bias")), MEMORY),
            state: vec![0.0; MEMORY],
            cell: vec![0.0; MEMORY],
            before: vec![0.0; BEFORE],
        }
    }

    /// The share of speech in each block of the sound that goes on here; a last block that is not
    /// full is filled up with silence.
    pub fn shares(&mut self, samples: &[f32]) -> Vec<f32> {
        let blocks = samples.len().div_ceil(BLOCK);
        let columns = self.columns(samples);
        let sums = self.waves.forward(Rows::new(&columns, SPAN), After::Nothing);
        let mut x: Vec<f32> = sums.chunks_exact(2 * BINS).flat_map(magnitudes).collect();
        let mut length = COLUMNS;
        for convolution in &self.convolutions {
            (x, length) = convolution.forward(&x, blocks, length);
        }
        let gates = self.input.forward(Rows::new(&x, MEMORY), After::Nothing);
        gates.chunks_exact(4 * MEMORY).map(|gates| self.remember(gates)).collect()
    }

    /// What lies under each transform: \[blocks·COLUMNS, SPAN\].
    fn columns(&mut self, samples: &[f32]) -> Vec<f32> {
        let mut columns = Vec::with_capacity(samples.len() * 2 + 4 * SPAN);
        for block in samples.chunks(BLOCK) {
            let mut seen = std::mem::take(&mut self.before);
            seen.extend_from_slice(block);
            seen.resize(BEFORE + BLOCK, 0.0);
            self.before = seen[BLOCK..].to_vec();
            // The end is mirrored to make room for the last transform.
            let mirrored: Vec<f32> = seen.iter().rev().skip(1).take(BEFORE).copied().collect();
            seen.extend(mirrored);
            for column in 0..COLUMNS {
                columns.extend_from_slice(&seen[column * HOP..column * HOP + SPAN]);
            }
        }
        columns
    }

    /// One step of the recurrent cell; the share of speech after it.
    fn remember(&mut self, input: &[f32]) -> f32 {
        let mut gates = self.memory.forward(Rows::new(&self.state, MEMORY), After::Nothing);
        vectorised(
            #[inline(always)]
            || kernels::add(&mut gates, input),
        );
        let (inputs, rest) = gates.split_at(MEMORY);
        let (forget, rest) = rest.split_at(MEMORY);
        let (candidate, output) = rest.split_at(MEMORY);
        for i in 0..MEMORY {
            let new = sigmoid(inputs[i]) * candidate[i].tanh();
            self.cell[i] = sigmoid(forget[i]) * self.cell[i] + new;
            self.state[i] = sigmoid(output[i]) * self.cell[i].tanh();
        }
        let positive: Vec<f32> = self.state.iter().map(|x| x.max(0.0)).collect();
        sigmoid(self.last.forward(Rows::new(&positive, MEMORY), After::Nothing)[0])
    }
}

impl Convolution {
    /// Three taps wide with zeros at the ends: from \[blocks, length, into\] to \[blocks, .., out\],
    /// negative numbers cut off.
    fn forward(&self, x: &[f32], blocks: usize, length: usize) -> (Vec<f32>, usize) {
        let out = (length - 1) / self.stride + 1;
        let mut taps = Vec::with_capacity(blocks * out * 3 * self.into);
        for block in x.chunks_exact(length * self.into) {
            for at in (0..length).step_by(self.stride) {
                for tap in [at.checked_sub(1), Some(at), Some(at + 1)] {
                    let place = tap.filter(|tap| *tap < length).map(|tap| tap * self.into);
                    match place {
                        Some(place) => taps.extend_from_slice(&block[place..place + self.into]),
                        None => taps.resize(taps.len() + self.into, 0.0),
                    }
                }
            }
        }
        let mut y = self.layer.forward(Rows::new(&taps, 3 * self.into), After::Nothing);
        y.iter_mut().for_each(|x| *x = x.max(0.0));
        (y, out)
    }
}

/// From \[out, into, 3\] to \[out, 3, into\].
fn taps_first(weight: &[f32], into: usize) -> Vec<f32> {
    let row = |row: &[f32]| -> Vec<f32> {
        (0..3)
            .flat_map(|tap| row.iter().skip(tap).step_by(3).copied().collect::<Vec<_>>())
            .collect()
    };
    weight.chunks_exact(3 * into).flat_map(row).collect()
}

fn magnitudes(sums: &[f32]) -> Vec<f32> {
    let (real, imaginary) = sums.split_at(BINS);
    real.iter().zip(imaginary).map(|(re, im)| (re * re + im * im).sqrt()).collect()
}

fn sigmoid(x: f32) -> f32 {
    1.0 / (1.0 + (-x).exp())
}

fn numbers(tensors: &SafeTensors, name: &str) -> Vec<f32> {
    let tensor = tensors.tensor(name).ok().filter(|tensor| tensor.dtype() == Dtype::F16);
    // As above: a test loads these very bytes.
    let tensor = tensor.expect("the shipped weights have every tensor in 16 bits");
    tensor.data().as_chunks().0.iter().map(|b| half::f16::from_le_bytes(*b).to_f32()).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    fn golden() -> (Vec<f32>, Vec<f32>) {
        let sound = include_bytes!("../../tests/data/voice.s16");
        let samples =
            sound.as_chunks().0.iter().map(|b| f32::from(i16::from_le_bytes(*b)) / 32768.0);
        let shares = serde_json::from_str(include_str!("../../tests/data/voice.json")).unwrap();
        (samples.collect(), shares)
    }

    #[test]
    fn agrees_with_the_original_network() {
        let (samples, expected) = golden();
        let shares = Voice::new().shares(&samples);
        assert_eq!(shares.len(), expected.len());
        let far = shares.iter().zip(&expected).map(|(a, b)| (a - b).abs()).fold(0.0, f32::max);
        // Weights in 16 bits move a share by up to 0.02; the original has 32.
        assert!(far < 0.03, "{far}");
    }

    #[test]
    fn sound_in_pieces_is_the_same_sound() {
        let (samples, _) = golden();
        let whole = Voice::new().shares(&samples[..40 * BLOCK]);
        let mut voice = Voice::new();
        let pieces: Vec<f32> =
            samples[..40 * BLOCK].chunks(7 * BLOCK).flat_map(|piece| voice.shares(piece)).collect();
        assert_eq!(whole.len(), pieces.len());
        assert!(whole.iter().zip(&pieces).all(|(a, b)| (a - b).abs() < 1e-5));
    }
}
