//! Voice activity detection: the probability of speech in each 32 ms, by the network of Silero VAD
//! (MIT), whose weights are part of the program.

use crate::kernels::{self, Activation, sigmoid};
use crate::layers::Linear;
use crate::weights::Weights;

/// Samples of one block: 32 ms at 16 kHz.
pub const BLOCK_SAMPLES: usize = 512;
/// Samples before a block that the network reads too.
const CONTEXT_SAMPLES: usize = 64;
/// Samples of one Fourier transform, and from one to the next.
const FFT_SAMPLES: usize = 256;
const HOP: usize = 128;
/// Transforms of one block.
const FRAMES: usize = 4;
/// Frequencies of one transform.
const BINS: usize = 129;
/// The width of the LSTM.
const WIDTH: usize = 128;

static WEIGHTS: &[u8] = include_bytes!("../assets/voice/silero.safetensors");

/// The network, with its state after the sound so far.
pub struct VoiceActivity {
    stft: Linear,
    convolutions: [Convolution; 4],
    lstm_input: Linear,
    lstm_hidden: Linear,
    head: Linear,
    hidden: Vec<f32>,
    cell: Vec<f32>,
    context: Vec<f32>,
}

/// A convolution of three taps.
struct Convolution {
    linear: Linear, // [out, 3·inputs]
    inputs: usize,
    stride: usize,
}

impl Default for VoiceActivity {
    /// The state before any sound.
    fn default() -> Self {
        // A test loads these very bytes, so it cannot fail for a user.
        let weights =
            Weights::from_bytes("silero", WEIGHTS).expect("the shipped weights are whole");
        let tensor = |name: &str| {
            let found = weights.shape(name).and_then(|shape| weights.tensor(name, shape));
            found.expect("the shipped weights have every tensor")
        };
        let convolution = |name: &str, inputs: usize, stride: usize| {
            let (weight, bias) =
                (tensor(&format!("{name}.weight")), tensor(&format!("{name}.bias")));
            let linear = Linear::convolution(&weight, Some(bias), inputs, 3);
            Convolution { linear, inputs, stride }
        };
        let lstm = |part: &str| {
            let weight = tensor(&format!("lstm_cell.weight_{part}"));
            Linear::new(weight, Some(tensor(&format!("lstm_cell.bias_{part}"))), WIDTH)
        };
        Self {
            stft: Linear::new(tensor("stft_conv.weight"), None, FFT_SAMPLES),
            convolutions: [
                convolution("conv1", BINS, 1),
                convolution("conv2", 128, 2),
                convolution("conv3", 64, 2),
                convolution("conv4", 64, 1),
            ],
            lstm_input: lstm("ih"),
            lstm_hidden: lstm("hh"),
            head: Linear::new(tensor("final_conv.weight"), Some(tensor("final_conv.bias")), WIDTH),
            hidden: vec![0.0; WIDTH],
            cell: vec![0.0; WIDTH],
            context: vec![0.0; CONTEXT_SAMPLES],
        }
    }
}

impl VoiceActivity {
    /// The probability of speech in each block of the sound that follows; a last block that is not
    /// full is filled up with silence.
    pub fn forward(&mut self, samples: &[f32]) -> Vec<f32> {
        let blocks = samples.len().div_ceil(BLOCK_SAMPLES);
        let frames = self.frames(samples);
        let sums = self.stft.forward(&frames, None); // [blocks·FRAMES, 2·BINS]
        let mut x: Vec<f32> = sums.chunks_exact(2 * BINS).flat_map(magnitudes).collect();
        let mut length = FRAMES;
        for convolution in &self.convolutions {
            (x, length) = convolution.forward(&x, blocks, length);
        }
        let gates = self.lstm_input.forward(&x, None); // [blocks, 4·WIDTH]
        gates.chunks_exact(4 * WIDTH).map(|gates| self.lstm_step(gates)).collect()
    }

    /// The samples of each transform: \[blocks·FRAMES, FFT_SAMPLES\].
    fn frames(&mut self, samples: &[f32]) -> Vec<f32> {
        let mut frames = Vec::with_capacity(samples.len() * 2 + 4 * FFT_SAMPLES);
        for block in samples.chunks(BLOCK_SAMPLES) {
            let mut seen = std::mem::take(&mut self.context);
            seen.extend_from_slice(block);
            seen.resize(CONTEXT_SAMPLES + BLOCK_SAMPLES, 0.0);
            self.context = seen[BLOCK_SAMPLES..].to_vec();
            // The end is mirrored to make room for the last transform.
            let end = seen.iter().rev().skip(1).take(CONTEXT_SAMPLES);
            let mirrored: Vec<f32> = end.copied().collect();
            seen.extend(mirrored);
            for frame in 0..FRAMES {
                frames.extend_from_slice(&seen[frame * HOP..frame * HOP + FFT_SAMPLES]);
            }
        }
        frames
    }

    /// One step of the recurrent cell; the probability of speech after it.
    fn lstm_step(&mut self, input: &[f32]) -> f32 {
        let mut gates = self.lstm_hidden.forward(&self.hidden, None); // [4·WIDTH]
        kernels::add(&mut gates, input);
        let (inputs, rest) = gates.split_at(WIDTH);
        let (forget, rest) = rest.split_at(WIDTH);
        let (candidate, output) = rest.split_at(WIDTH);
        for i in 0..WIDTH {
            let new = sigmoid(inputs[i]) * candidate[i].tanh();
            self.cell[i] = sigmoid(forget[i]) * self.cell[i] + new;
            self.hidden[i] = sigmoid(output[i]) * self.cell[i].tanh();
        }
        let positive: Vec<f32> = self.hidden.iter().map(|x| x.max(0.0)).collect();
        sigmoid(self.head.forward(&positive, None)[0])
    }
}

impl Convolution {
    /// Zeros at the ends, ReLU after it: from \[blocks, length, inputs\] to \[blocks, .., out\] and the
    /// new length.
    fn forward(&self, x: &[f32], blocks: usize, length: usize) -> (Vec<f32>, usize) {
        let out = (length - 1) / self.stride + 1;
        let mut taps = Vec::with_capacity(blocks * out * 3 * self.inputs);
        for block in x.chunks_exact(length * self.inputs) {
            for at in (0..length).step_by(self.stride) {
                for tap in [at.checked_sub(1), Some(at), Some(at + 1)] {
                    match tap.filter(|tap| *tap < length).map(|tap| tap * self.inputs) {
                        Some(start) => taps.extend_from_slice(&block[start..start + self.inputs]),
                        None => taps.resize(taps.len() + self.inputs, 0.0),
                    }
                }
            }
        }
        (self.linear.forward(&taps, Some(Activation::Relu)), out)
    }
}

fn magnitudes(sums: &[f32]) -> Vec<f32> {
    let (real, imaginary) = sums.split_at(BINS);
    real.iter().zip(imaginary).map(|(re, im)| (re * re + im * im).sqrt()).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Sound and the probabilities that the original network gives for it.
    fn golden() -> (Vec<f32>, Vec<f32>) {
        let sound = include_bytes!("../tests/data/voice.s16");
        let samples =
            sound.as_chunks().0.iter().map(|b| f32::from(i16::from_le_bytes(*b)) / 32768.0);
        let probabilities = serde_json::from_str(include_str!("../tests/data/voice.json")).unwrap();
        (samples.collect(), probabilities)
    }

    #[test]
    fn agrees_with_the_original_network() {
        let (samples, expected) = golden();
        let found = VoiceActivity::default().forward(&samples);
        assert_eq!(found.len(), expected.len());
        let far = found.iter().zip(&expected).map(|(a, b)| (a - b).abs()).fold(0.0, f32::max);
        // Weights in 16 bits move a probability by up to 0.02; the original has 32.
        assert!(far < 0.03, "{far}");
    }

    #[test]
    fn sound_in_pieces_is_the_same_sound() {
        let (samples, _) = golden();
        let whole = VoiceActivity::default().forward(&samples[..40 * BLOCK_SAMPLES]);
        let mut voice = VoiceActivity::default();
        let pieces: Vec<f32> = samples[..40 * BLOCK_SAMPLES]
            .chunks(7 * BLOCK_SAMPLES)
            .flat_map(|piece| voice.forward(piece))
            .collect();
        assert_eq!(whole.len(), pieces.len());
        assert!(whole.iter().zip(&pieces).all(|(a, b)| (a - b).abs() < 1e-5));
    }
}
