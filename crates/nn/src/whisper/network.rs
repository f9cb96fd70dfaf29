//! Whisper's network: an encoder that listens to thirty seconds, a decoder that writes token after
//! token what it heard, for several windows side by side.

use std::path::Path;

use half::f16;
use rayon::prelude::*;
use serde::Deserialize;

use super::layers::{After, Narrow, Norm, Rows, Wide, product, weighted, widened};
use super::spectrum::COLUMNS;
use crate::kernels::{self, vectorised};
use crate::weights::read_json;
use crate::weights::{Weights, WeightsError};

/// Queries of the encoder's attention that one task takes: their scores stay in the cache.
const QUERIES: usize = 250;

/// config.json, as far as it matters here.
#[allow(missing_docs)] // the names of the file, which Whisper's own documentation explains
#[derive(Clone, Debug, Deserialize)]
pub struct Config {
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

impl Config {
    /// Reads and checks the config of a model's folder.
    pub fn read(folder: &Path) -> Result<Self, WeightsError> {
        let config: Self = read_json(folder, "config.json")?;
        let heads = [config.encoder_attention_heads, config.decoder_attention_heads];
        let divides = heads.iter().all(|h| *h > 0 && config.d_model.is_multiple_of(*h));
        let room = config.max_source_positions == COLUMNS / 2 && config.max_target_positions >= 64;
        let sizes = [config.d_model, config.vocab_size, config.num_mel_bins];
        let layers = config.encoder_layers.min(config.decoder_layers) > 0;
        if divides && room && layers && sizes.iter().all(|size| (1..1 << 20).contains(size)) {
            return Ok(config);
        }
        let reason = "the sizes in it do not make a Whisper; fetch the model again".into();
        Err(WeightsError::Config { path: folder.join("config.json"), reason })
    }
}

/// The whole network.
pub struct Network {
    /// Its sizes.
    pub config: Config,
    stem: Stem,
    encoder: Vec<EncoderLayer>,
    encoder_norm: Norm,
    positions: Vec<f32>, // [target positions, d]
    tokens: Narrow,      // [vocabulary, d]
    decoder: Vec<DecoderLayer>,
    decoder_norm: Norm,
}

/// Two convolutions that halve the number of columns, and the encoder's positions.
struct Stem {
    first: Wide,  // [d, 3·bands]
    second: Wide, // [d, 3·d]
    positions: Vec<f32>,
}

struct EncoderLayer {
    attention_norm: Norm,
    qkv: Wide, // [3·d, d]
    out: Wide, // [d, d]
    norm: Norm,
    wide: Wide,   // [4·d, d]
    narrow: Wide, // [d, 4·d]
    heads: usize,
}

struct DecoderLayer {
    attention_norm: Norm,
    qkv: Narrow, // [3·d, d]
    out: Narrow, // [d, d]
    heard_norm: Norm,
    heard_query: Narrow, // [d, d]
    heard_kv: Wide,      // [2·d, d]
    heard_out: Narrow,   // [d, d]
    norm: Norm,
    wide: Narrow,   // [4·d, d]
    narrow: Narrow, // [d, 4·d]
}

/// What the encoder heard in one window, as the decoder's layers look at it, in 16 bits: keys
/// \[heads, d / heads, positions\] and values \[heads, positions, d / heads\].
pub struct Heard {
    layers: Vec<(Vec<f16>, Vec<f16>)>,
}

/// What the decoder has written so far for one window: keys and values of each layer, \[tokens, d\].
#[derive(Clone, Default)]
pub struct Written {
    layers: Vec<(Vec<f32>, Vec<f32>)>,
}

impl Network {
    /// Loads the network of a model's folder.
    pub fn load(folder: &Path, config: Config) -> Result<Self, WeightsError> {
        let weights = Weights::open(folder)?;
        let d = config.d_model;
        let load = Loader { weights: &weights, d };
        let encoder = (0..config.encoder_layers).map(|i| EncoderLayer::load(&load, &config, i));
        let decoder = (0..config.decoder_layers).map(|i| DecoderLayer::load(&load, &config, i));
        let places = config.max_target_positions;
        let tokens =
            weights.numbers("model.decoder.embed_tokens.weight", &[config.vocab_size, d])?;
        Ok(Self {
            stem: Stem::load(&weights, &config)?,
            encoder: encoder.collect::<Result<_, _>>()?,
            encoder_norm: Norm::load(&weights, "model.encoder.layer_norm", d)?,
            positions: weights.numbers("model.decoder.embed_positions.weight", &[places, d])?,
            tokens: Narrow::new(&tokens, None, d),
            decoder: decoder.collect::<Result<_, _>>()?,
            decoder_norm: Norm::load(&weights, "model.decoder.layer_norm", d)?,
            config,
        })
    }

    /// Bytes of a [`Heard`].
    pub fn bytes_heard(&self) -> usize {
        let c = &self.config;
        2 * 2 * c.decoder_layers * c.max_source_positions * c.d_model
    }

    /// The encoder's last layer over a spectrum \[COLUMNS, bands\]: \[positions, d\].
    pub fn encode(&self, spectrum: &[f32]) -> Vec<f32> {
        let mut x = self.stem.forward(spectrum);
        self.encoder.iter().for_each(|layer| layer.forward(&mut x));
        self.encoder_norm.forward(&x)
    }

    /// Listens to a spectrum.
    pub fn hear(&self, spectrum: &[f32]) -> Heard {
        let x = self.encode(spectrum);
        let (d, heads) = (self.config.d_model, self.config.decoder_attention_heads);
        let layer = |layer: &DecoderLayer| {
            let kv = layer.heard_kv.forward(Rows::new(&x, d), After::Nothing); // [positions, 2·d]
            (keys_by_head(&kv, d), values_by_head(&kv, d, heads))
        };
        Heard { layers: self.decoder.iter().map(layer).collect() }
    }

    /// A decoder that has written nothing yet.
    pub fn blank(&self) -> Written {
        Written { layers: vec![(Vec::new(), Vec::new()); self.decoder.len()] }
    }

    /// Writes one token for each line and returns the decoder's last layer: \[lines, d\]. Lines of
    /// one window stand together; `heard` has each window with the number of its lines.
    pub fn write(
        &self,
        tokens: &[u32],
        written: &mut [&mut Written],
        heard: &[(&Heard, usize)],
    ) -> Vec<f32> {
        let d = self.config.d_model;
        let place = written.first().map_or(0, |written| written.layers[0].0.len() / d);
        let position = &self.positions[place * d..(place + 1) * d];
        let mut x = Vec::with_capacity(tokens.len() * d); // [lines, d]
        for token in tokens {
            let embedding = self.tokens.row(*token as usize).unwrap_or_else(|| vec![0.0; d]);
            x.extend(embedding.iter().zip(position).map(|(a, b)| a + b));
        }
        let heads = self.config.decoder_attention_heads;
        for (number, layer) in self.decoder.iter().enumerate() {
            layer.forward(&mut x, number, heads, written, heard);
        }
        self.decoder_norm.forward(&x)
    }

    /// The logits of the token that follows: \[lines, vocabulary\].
    pub fn logits(&self, x: &[f32]) -> Vec<f32> {
        self.tokens.forward(x, After::Nothing)
    }
}

/// The values of stacked keys and values \[positions, 2·d\], head after head.
fn values_by_head(kv: &[f32], d: usize, heads: usize) -> Vec<f16> {
    let size = d / heads;
    let mut out = Vec::with_capacity(kv.len() / 2);
    for head in 0..heads {
        for row in kv.chunks_exact(2 * d) {
            out.extend(row[d + head * size..][..size].iter().map(|x| f16::from_f32(*x)));
        }
    }
    out
}

/// The keys, head after head, the numbers of one kind side by side.
fn keys_by_head(kv: &[f32], d: usize) -> Vec<f16> {
    let mut out = Vec::with_capacity(kv.len() / 2);
    for place in 0..d {
        out.extend(kv.iter().skip(place).step_by(2 * d).map(|x| f16::from_f32(*x)));
    }
    out
}

impl Stem {
    fn load(weights: &Weights, config: &Config) -> Result<Self, WeightsError> {
        let d = config.d_model;
        let convolution = |name: &str, into: usize| {
            let name = format!("model.encoder.{name}");
            let weight = weights.numbers(&format!("{name}.weight"), &[d, into, 3])?;
            let bias = weights.numbers(&format!("{name}.bias"), &[d])?;
            Ok::<_, WeightsError>(Wide::new(taps_first(&weight, into), Some(bias), 3 * into))
        };
        let shape = [config.max_source_positions, d];
        Ok(Self {
            first: convolution("conv1", config.num_mel_bins)?,
            second: convolution("conv2", d)?,
            positions: weights.numbers("model.encoder.embed_positions.weight", &shape)?,
        })
    }

    /// Three taps lie side by side in memory, so a convolution is a product of overlapping rows.
    fn forward(&self, spectrum: &[f32]) -> Vec<f32> {
        let bands = spectrum.len() / COLUMNS;
        let padded = between_zeros(spectrum, bands);
        let columns = Rows { data: &padded, count: COLUMNS, width: 3 * bands, stride: bands };
        let x = self.first.forward(columns, After::Gelu); // [COLUMNS, d]
        let d = self.second.out();
        let padded = between_zeros(&x, d);
        let every_other = Rows { data: &padded, count: COLUMNS / 2, width: 3 * d, stride: 2 * d };
        let mut x = self.second.forward(every_other, After::Gelu); // [positions, d]
        x.iter_mut().zip(&self.positions).for_each(|(x, position)| *x += position);
        x
    }
}

/// A row of zeros before and after.
fn between_zeros(x: &[f32], width: usize) -> Vec<f32> {
    let mut padded = vec![0.0; x.len() + 2 * width];
    padded[width..width + x.len()].copy_from_slice(x);
    padded
}

/// From \[out, into, 3\] to \[out, 3, into\].
fn taps_first(weight: &[f32], into: usize) -> Vec<f32> {
    let mut turned = Vec::with_capacity(weight.len());
    for row in weight.chunks_exact(3 * into) {
        (0..3).for_each(|tap| turned.extend(row.iter().skip(tap).step_by(3)));
    }
    turned
}

/// Loads the layers of a network of one width.
struct Loader<'a> {
    weights: &'a Weights,
    d: usize,
}

impl Loader<'_> {
    /// The numbers of linear layers with one input, stacked; a missing bias is zeros.
    fn stacked(
        &self,
        name: &str,
        parts: &[&str],
        (out, into): (usize, usize),
    ) -> Result<(Vec<f32>, Vec<f32>), WeightsError> {
        let (mut weight, mut bias) = (Vec::new(), Vec::new());
        for part in parts {
            let tensor = |kind: &str| format!("{name}.{part}.{kind}");
            weight.extend(self.weights.numbers(&tensor("weight"), &[out, into])?);
            // Whisper's keys have none.
            let has_bias = *part != "k_proj" || self.weights.has(&tensor("bias"));
            bias.extend(match has_bias {
                true => self.weights.numbers(&tensor("bias"), &[out])?,
                false => vec![0.0; out],
            });
        }
        Ok((weight, bias))
    }

    fn wide(&self, name: &str, parts: &[&str], size: (usize, usize)) -> Result<Wide, WeightsError> {
        let (weight, bias) = self.stacked(name, parts, size)?;
        Ok(Wide::new(weight, Some(bias), size.1))
    }

    fn narrow(
        &self,
        name: &str,
        parts: &[&str],
        size: (usize, usize),
    ) -> Result<Narrow, WeightsError> {
        let (weight, bias) = self.stacked(name, parts, size)?;
        Ok(Narrow::new(&weight, Some(bias), size.1))
    }

    fn norm(&self, name: &str, part: &str) -> Result<Norm, WeightsError> {
        Norm::load(self.weights, &format!("{name}.{part}"), self.d)
    }
}

/// The parts of an attention's stacked input.
const QKV: [&str; 3] = ["q_proj", "k_proj", "v_proj"];

impl EncoderLayer {
    fn load(load: &Loader, config: &Config, number: usize) -> Result<Self, WeightsError> {
        let (d, wide) = (load.d, config.encoder_ffn_dim);
        let name = format!("model.encoder.layers.{number}");
        let attention = format!("{name}.self_attn");
        Ok(Self {
            attention_norm: load.norm(&name, "self_attn_layer_norm")?,
            qkv: load.wide(&attention, &QKV, (d, d))?,
            out: load.wide(&attention, &["out_proj"], (d, d))?,
            norm: load.norm(&name, "final_layer_norm")?,
            wide: load.wide(&name, &["fc1"], (wide, d))?,
            narrow: load.wide(&name, &["fc2"], (d, wide))?,
            heads: config.encoder_attention_heads,
        })
    }

    fn forward(&self, x: &mut [f32]) {
        let d = self.out.out();
        let normed = self.attention_norm.forward(x);
        let qkv = self.qkv.forward(Rows::new(&normed, d), After::Nothing); // [positions, 3·d]
        let attended = attend(&qkv, d, self.heads); // [positions, d]
        self.out.add_to(x, Rows::new(&attended, d));
        let normed = self.norm.forward(x);
        let wide = self.wide.forward(Rows::new(&normed, d), After::Gelu); // [positions, 4·d]
        self.narrow.add_to(x, Rows::new(&wide, self.wide.out()));
    }
}

/// Every position looks at every position: from \[positions, 3·d\] to \[positions, d\].
fn attend(qkv: &[f32], d: usize, heads: usize) -> Vec<f32> {
    let (size, positions) = (d / heads, qkv.len() / (3 * d));
    let part = |row: usize, count: usize, from: usize| Rows {
        data: &qkv[row * 3 * d + from..],
        count,
        width: size,
        stride: 3 * d,
    };
    let scale = 1.0 / (size as f32).sqrt();
    let mut out = vec![0.0; positions * d];
    out.par_chunks_mut(QUERIES * d).enumerate().for_each(|(task, out)| {
        let count = out.len() / d;
        let mut scores = vec![0.0; count * positions];
        for head in 0..heads {
            let (q, k, v) = (head * size, d + head * size, 2 * d + head * size);
            let keys = part(0, positions, k);
            product(part(task * QUERIES, count, q), keys, &mut scores, positions, false);
            vectorised(
                #[inline(always)]
                || {
                    for row in scores.chunks_exact_mut(positions) {
                        row.iter_mut().for_each(|score| *score *= scale);
                        kernels::softmax(row);
                    }
                },
            );
            let shares = Rows::new(&scores, positions);
            weighted(shares, part(0, positions, v), &mut out[head * size..], d);
        }
    });
    out
}

impl DecoderLayer {
    fn load(load: &Loader, config: &Config, number: usize) -> Result<Self, WeightsError> {
        let (d, wide) = (load.d, config.decoder_ffn_dim);
        let name = format!("model.decoder.layers.{number}");
        let attention = format!("{name}.self_attn");
        let heard = format!("{name}.encoder_attn");
        Ok(Self {
            attention_norm: load.norm(&name, "self_attn_layer_norm")?,
            qkv: load.narrow(&attention, &QKV, (d, d))?,
            out: load.narrow(&attention, &["out_proj"], (d, d))?,
            heard_norm: load.norm(&name, "encoder_attn_layer_norm")?,
            heard_query: load.narrow(&heard, &["q_proj"], (d, d))?,
            heard_kv: load.wide(&heard, &["k_proj", "v_proj"], (d, d))?,
            heard_out: load.narrow(&heard, &["out_proj"], (d, d))?,
            norm: load.norm(&name, "final_layer_norm")?,
            wide: load.narrow(&name, &["fc1"], (wide, d))?,
            narrow: load.narrow(&name, &["fc2"], (d, wide))?,
        })
    }

    /// One token of each line.
    fn forward(
        &self,
        x: &mut [f32],
        number: usize,
        heads: usize,
        written: &mut [&mut Written],
        heard: &[(&Heard, usize)],
    ) {
        let d = x.len() / written.len().max(1);
        let qkv = self.qkv.forward(&self.attention_norm.forward(x), After::Nothing);
        let mut attended = vec![0.0; x.len()];
        let lines = qkv.par_chunks_exact(3 * d).zip(written).zip(attended.par_chunks_exact_mut(d));
        lines.for_each(|((qkv, written), out)| {
            let (keys, values) = &mut written.layers[number];
            keys.extend_from_slice(&qkv[d..2 * d]);
            values.extend_from_slice(&qkv[2 * d..]);
            recall(&qkv[..d], keys, values, heads, out);
        });
        add(x, &self.out.forward(&attended, After::Nothing));
        let queries = self.heard_query.forward(&self.heard_norm.forward(x), After::Nothing);
        let attended = listen_all(&queries, number, heads, heard, d);
        add(x, &self.heard_out.forward(&attended, After::Nothing));
        let wide = self.wide.forward(&self.norm.forward(x), After::Gelu);
        add(x, &self.narrow.forward(&wide, After::Nothing));
    }
}

/// Every line looks at what was heard in its window: from \[lines, d\] to \[lines, d\].
fn listen_all(
    queries: &[f32],
    number: usize,
    heads: usize,
    heard: &[(&Heard, usize)],
    d: usize,
) -> Vec<f32> {
    let size = d / heads;
    let starts = heard.iter().scan(0, |at, (_, lines)| {
        *at += lines;
        Some(*at - lines)
    });
    let windows = heard.iter().zip(starts);
    let tasks: Vec<_> = windows.flat_map(|window| (0..heads).map(move |h| (window, h))).collect();
    let parts: Vec<Vec<f32>> = tasks
        .par_iter()
        .map(|(((heard, lines), first), head)| {
            let (keys, values) = &heard.layers[number];
            let block = keys.len() / heads;
            let part = head * block..(head + 1) * block;
            let queries = &queries[first * d..(first + lines) * d];
            let of_head = |query: &[f32]| query[head * size..(head + 1) * size].to_vec();
            let queries: Vec<f32> = queries.chunks_exact(d).flat_map(of_head).collect();
            listen(&queries, size, &keys[part.clone()], &values[part])
        })
        .collect();
    let mut out = vec![0.0; queries.len()];
    for ((((_, lines), first), head), part) in tasks.iter().zip(&parts) {
        let rows = out[first * d..(first + lines) * d].chunks_exact_mut(d);
        for (row, part) in rows.zip(part.chunks_exact(size)) {
            row[head * size..(head + 1) * size].copy_from_slice(part);
        }
    }
    out
}

fn add(x: &mut [f32], y: &[f32]) {
    x.iter_mut().zip(y).for_each(|(x, y)| *x += y);
}

/// One token looks at what was written: all heads, keys and values \[tokens, d\].
fn recall(query: &[f32], keys: &[f32], values: &[f32], heads: usize, out: &mut [f32]) {
    let (d, size) = (query.len(), query.len() / heads);
    let scale = 1.0 / (size as f32).sqrt();
    let mut scores = vec![0.0; keys.len() / d];
    vectorised(
        #[inline(always)]
        || {
            for head in 0..heads {
                let part = head * size..(head + 1) * size;
                for (score, key) in scores.iter_mut().zip(keys.chunks_exact(d)) {
                    *score = kernels::dot(&query[part.clone()], &key[part.clone()]) * scale;
                }
                kernels::softmax(&mut scores);
                let out = &mut out[part.clone()];
                for (share, value) in scores.iter().zip(values.chunks_exact(d)) {
                    let value = &value[part.clone()];
                    out.iter_mut().zip(value).for_each(|(sum, x)| *sum += share * x);
                }
            }
        },
    );
}

/// One head of a window's lines looks at what was heard: queries \[lines, size\], keys
/// \[size, positions\], values \[positions, size\]. Each is turned into f32 once for all lines.
fn listen(queries: &[f32], size: usize, keys: &[f16], values: &[f16]) -> Vec<f32> {
    let positions = keys.len() / size;
    let scale = 1.0 / (size as f32).sqrt();
    let mut wide = vec![0.0f32; keys.len()];
    let mut scores = vec![0.0f32; queries.len() / size * positions];
    let mut out = vec![0.0f32; queries.len()];
    widened(keys, &mut wide);
    weighted(Rows::new(queries, size), Rows::new(&wide, positions), &mut scores, positions);
    vectorised(
        #[inline(always)]
        || {
            for row in scores.chunks_exact_mut(positions) {
                row.iter_mut().for_each(|score| *score *= scale);
                kernels::softmax(row);
            }
        },
    );
    widened(values, &mut wide);
    weighted(Rows::new(&scores, positions), Rows::new(&wide, size), &mut out, size);
    out
}
