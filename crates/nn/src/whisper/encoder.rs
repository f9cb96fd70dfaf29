//! Whisper's encoder: two convolutions, of which the second halves the frames, then a transformer over
//! all positions of a window.

use super::mel::FRAMES;
use super::{EPS, WhisperConfig};
use crate::error::{NnError, Result};
use crate::kernels::{self, Activation};
use crate::layers::{LayerNorm, Linear};
use crate::matrix::Matrix;
use crate::transformer::{GeluKind, Naming, Transformer, TransformerConfig};
use crate::weights::Scope;

const GELU: Option<Activation> = Some(Activation::Gelu);

pub(super) struct Encoder {
    conv1: Linear,       // [d, 3·bands]
    conv2: Linear,       // [d, 3·d]
    positions: Vec<f32>, // [positions, d]
    transformer: Transformer,
    norm: LayerNorm,
}

impl Encoder {
    pub fn load(scope: &Scope<'_>, config: &WhisperConfig) -> Result<Self> {
        let d = config.d_model;
        let convolution = |name: &str, inputs: usize| {
            let scope = scope.at(name);
            let weight = scope.tensor("weight", &[d, inputs, 3])?;
            let bias = scope.tensor("bias", &[d])?;
            Ok::<_, NnError>(Linear::convolution(&weight, Some(bias), inputs, 3))
        };
        let sizes = TransformerConfig {
            width: d,
            hidden: config.encoder_ffn_dim,
            layers: config.encoder_layers,
            heads: config.encoder_attention_heads,
            eps: EPS,
            gelu: GeluKind::Exact,
        };
        let shape = [config.max_source_positions, d];
        Ok(Self {
            conv1: convolution("conv1", config.num_mel_bins)?,
            conv2: convolution("conv2", d)?,
            positions: scope.tensor("embed_positions.weight", &shape)?,
            transformer: Transformer::load(&scope.at("layers"), Naming::Whisper, &sizes)?,
            norm: scope.layer_norm("layer_norm", d, EPS)?,
        })
    }

    /// \[FRAMES, bands\] to \[positions, d\]. Three taps lie side by side in memory, so a convolution is a
    /// product of overlapping rows.
    pub fn forward(&self, spectrum: &[f32]) -> Vec<f32> {
        let bands = spectrum.len() / FRAMES;
        let padded = padded(spectrum, bands);
        let taps = Matrix::strided(&padded, FRAMES, 3 * bands, bands);
        let x = self.conv1.forward_strided(taps, GELU); // [FRAMES, d]
        let d = self.conv2.outputs();
        let padded = self::padded(&x, d);
        let taps = Matrix::strided(&padded, FRAMES / 2, 3 * d, 2 * d);
        let mut x = self.conv2.forward_strided(taps, GELU); // [positions, d]
        kernels::add(&mut x, &self.positions);
        self.transformer.forward(&mut x, &[(0, FRAMES / 2)]);
        self.norm.forward_in_place(&mut x);
        x
    }
}

/// A row of zeros before and after.
fn padded(x: &[f32], width: usize) -> Vec<f32> {
    let mut padded = vec![0.0; x.len() + 2 * width];
    padded[width..width + x.len()].copy_from_slice(x);
    padded
}
