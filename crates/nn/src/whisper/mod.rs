//! Whisper: an encoder over thirty seconds of sound, and a decoder that writes token after token for
//! several windows side by side.

pub mod mel;
mod half_linear;
mod encoder;
mod decoder;

use std::path::Path;

use serde::Deserialize;

use crate::error::{NnError, Result};
use crate::layers::{LayerNorm, Linear};
use crate::weights::{Weights, read_json};
use decoder::DecoderLayer;
pub use decoder::{CrossCache, SelfCache};
use encoder::Encoder;
use half_linear::HalfLinear;
use mel::FRAMES;

/// Keeps the division of a layer norm finite.
const EPS: f64 = 1e-5;

/// config.json, as far as it matters here.
#[derive(Clone, Debug, Deserialize)]
pub struct WhisperConfig {
    pub d_model: usize,
    pub num_mel_bins: usize,
    pub vocab_size: usize,
    pub encoder_layers: usize,
    pub encoder_attention_heads: usize,
    pub encoder_ffn_dim: usize,
    pub decoder_layers: usize,
    pub decoder_attention_heads: usize,
    pub decoder_ffn_dim: usize,
    pub max_source_positions: usize,
    pub max_target_positions: usize,
    #[serde(default)]
    pub suppress_tokens: Option<Vec<i64>>,
    #[serde(default)]
    pub begin_suppress_tokens: Option<Vec<i64>>,
}

impl WhisperConfig {
    /// Reads and checks the config of a model's folder.
    pub fn read(folder: &Path) -> Result<Self> {
        let config: Self = read_json(folder, "config.json")?;
        let heads = [config.encoder_attention_heads, config.decoder_attention_heads];
        let divides = heads.iter().all(|h| *h > 0 && config.d_model.is_multiple_of(*h));
        let room = config.max_source_positions == FRAMES / 2 && config.max_target_positions >= 64;
        let sizes = [config.d_model, config.vocab_size, config.num_mel_bins];
        let layers = config.encoder_layers.min(config.decoder_layers) > 0;
        if divides && room && layers && sizes.iter().all(|size| (1..1 << 20).contains(size)) {
            return Ok(config);
        }
        let reason = "the sizes in it do not make a Whisper; fetch the model again".into();
        Err(NnError::Config { path: folder.join("config.json"), reason })
    }
}

pub struct Whisper {
    pub config: WhisperConfig,
    encoder: Encoder,
    positions: Vec<f32>, // [target positions, d]
    tokens: HalfLinear,  // [vocabulary, d]
    decoder: Vec<DecoderLayer>,
    decoder_norm: LayerNorm,
}

impl Whisper {
    /// Loads the network of a model's folder.
    pub fn load(folder: &Path, config: WhisperConfig) -> Result<Self> {
        let weights = Weights::open(folder)?;
        let d = config.d_model;
        let decoder = weights.scope("model.decoder");
        let decoder_layer = |i: usize| DecoderLayer::load(&decoder.at("layers").at(i), &config);
        let positions = [config.max_target_positions, d];
        let tokens = decoder.tensor("embed_tokens.weight", &[config.vocab_size, d])?;
        Ok(Self {
            encoder: Encoder::load(&weights.scope("model.encoder"), &config)?,
            positions: decoder.tensor("embed_positions.weight", &positions)?,
            tokens: HalfLinear::new(&Linear::new(tokens, None, d)),
            decoder: (0..config.decoder_layers).map(decoder_layer).collect::<Result<_, _>>()?,
            decoder_norm: decoder.layer_norm("layer_norm", d, EPS)?,
            config,
        })
    }

    /// Bytes of a [`CrossCache`].
    pub fn cross_cache_bytes(&self) -> usize {
        let c = &self.config;
        2 * 2 * c.decoder_layers * c.max_source_positions * c.d_model
    }

    /// The encoder's output over a spectrum \[FRAMES, bands\]: \[positions, d\].
    pub fn encode(&self, spectrum: &[f32]) -> Vec<f32> {
        self.encoder.forward(spectrum)
    }

    /// What the decoder needs of a spectrum \[FRAMES, bands\].
    pub fn cross_cache(&self, spectrum: &[f32]) -> CrossCache {
        let x = self.encode(spectrum);
        let heads = self.config.decoder_attention_heads;
        CrossCache { layers: self.decoder.iter().map(|layer| layer.cross(&x, heads)).collect() }
    }

    /// The state of a line without tokens.
    pub fn self_cache(&self) -> SelfCache {
        SelfCache { layers: vec![(Vec::new(), Vec::new()); self.decoder.len()] }
    }

    /// Appends one token to each line and returns the decoder's output: \[lines, d\]. Lines of one
    /// window stand together; `windows` has each window with the number of its lines.
    pub fn decode(
        &self,
        tokens: &[u32],
        lines: &mut [&mut SelfCache],
        windows: &[(&CrossCache, usize)],
    ) -> Vec<f32> {
        self.decode_attending(tokens, lines, windows, None)
    }

    /// How much each of a window's tokens attends to each position, by layer and head:
    /// \[tokens, layers, heads, positions\].
    pub fn attention(&self, tokens: &[u32], window: &CrossCache) -> Vec<f32> {
        let mut attention = Vec::new();
        let mut line = self.self_cache();
        for token in tokens {
            let windows = [(window, 1)];
            self.decode_attending(&[*token], &mut [&mut line], &windows, Some(&mut attention));
        }
        attention
    }

    fn decode_attending(
        &self,
        tokens: &[u32],
        lines: &mut [&mut SelfCache],
        windows: &[(&CrossCache, usize)],
        mut attention: Option<&mut Vec<f32>>,
    ) -> Vec<f32> {
        let d = self.config.d_model;
        let place = lines.first().map_or(0, |line| line.layers[0].0.len() / d);
        let position = &self.positions[place * d..(place + 1) * d];
        let mut x = Vec::with_capacity(tokens.len() * d); // [lines, d]
        for token in tokens {
            let embedding = self.tokens.row(*token as usize).unwrap_or_else(|| vec![0.0; d]);
            x.extend(embedding.iter().zip(position).map(|(a, b)| a + b));
        }
        let heads = self.config.decoder_attention_heads;
        for (number, layer) in self.decoder.iter().enumerate() {
            layer.forward(&mut x, number, heads, lines, windows, attention.as_deref_mut());
        }
        self.decoder_norm.forward_in_place(&mut x);
        x
    }

    /// The logits of the next token, from the decoder's output: \[lines, vocabulary\].
    pub fn logits(&self, x: &[f32]) -> Vec<f32> {
        self.tokens.forward(x, None)
    }
}
