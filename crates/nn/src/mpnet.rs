//! MPNet with mean pooling: tokens of texts to one row for each, with an optional low-rank adapter.

use std::path::Path;

use candle_core::{Device, Tensor};
use serde::Deserialize;

use crate::kernels::{Activation, Attention, Linear, Norm, Queries, Relative};
use crate::weights::{Weights, WeightsError, read_json};

/// config.json, as far as it matters here.
#[derive(Clone, Debug, Deserialize)]
struct Config {
    vocab_size: usize,
    hidden_size: usize,
    num_hidden_layers: usize,
    num_attention_heads: usize,
    intermediate_size: usize,
    max_position_embeddings: usize,
    relative_attention_num_buckets: usize,
    layer_norm_eps: f64,
    pad_token_id: usize,
}

/// sentence_bert_config.json
#[derive(Clone, Debug, Deserialize)]
struct Limits {
    max_seq_length: usize,
}

/// A config that makes a network.
#[derive(Clone)]
pub struct Sizes {
    config: Config,
    /// The most tokens of one text.
    pub longest: usize,
}

impl Sizes {
    /// Reads and checks the sizes of a model's folder.
    pub fn read(folder: &Path) -> Result<Self, WeightsError> {
        let config: Config = read_json(folder, "config.json")?;
        let limits: Limits = read_json(folder, "sentence_bert_config.json")?;
        Self::new(config, limits.max_seq_length, folder)
    }

    /// The length of a vector.
    pub fn dim(&self) -> usize {
        self.config.hidden_size
    }

    fn new(config: Config, longest: usize, folder: &Path) -> Result<Self, WeightsError> {
        let heads = config.num_attention_heads;
        let d = config.hidden_size;
        let divides = heads > 0 && d > 0 && d.is_multiple_of(heads);
        let room = config.max_position_embeddings > config.pad_token_id + 1;
        if divides && room && config.relative_attention_num_buckets >= 4 {
            let places = config.max_position_embeddings - config.pad_token_id - 1;
            return Ok(Self { longest: longest.min(places), config });
        }
        let reason = "the sizes in it do not make an MPNet; fetch the model again".into();
        Err(WeightsError::Config { path: folder.join("config.json"), reason })
    }
}

/// The network: embeddings, layers of attention with relative positions, the mean over tokens.
pub struct Mpnet {
    config: Config,
    words: Tensor,     // [vocabulary, d]
    positions: Tensor, // [positions, d]
    norm: Norm,
    relative: Relative,
    layers: Vec<Layer>,
}

/// A text's tokens, and how many of them, from the first, are averaged: what follows is context.
#[derive(Clone, Copy, Debug)]
pub struct PooledText<'a> {
    /// Never empty.
    pub tokens: &'a [u32],
    /// At least 1, at most all.
    pub pooled: usize,
}

/// Low-rank updates (LoRA) of some layers, over the same base weights.
pub struct Adapter {
    /// By layer; none where the layer stays as it is.
    layers: Vec<Option<LayerAdapter>>,
}

struct LayerAdapter {
    qkv: [LowRank; 3],
    out: LowRank,
    narrow: LowRank,
}

/// x·a·b is added to a linear layer's output.
struct LowRank {
    a: Tensor, // [in, rank]
    b: Tensor, // [rank, out]
}

impl LowRank {
    fn read(weights: &Weights, name: &str, into: usize, out: usize) -> Result<Self, WeightsError> {
        let rank = weights.shape(&format!("{name}.b"))?.first().copied().unwrap_or(0);
        Ok(Self {
            a: weights.tensor(&format!("{name}.a"), &[into, rank], &Device::Cpu)?,
            b: weights.tensor(&format!("{name}.b"), &[rank, out], &Device::Cpu)?,
        })
    }

    fn forward(&self, x: &Tensor) -> candle_core::Result<Tensor> {
        x.matmul(&self.a)?.matmul(&self.b) // [N, out]
    }
}

impl Adapter {
    /// Whether it changes anything; one made for a deeper network may not.
    pub fn is_empty(&self) -> bool {
        self.layers.iter().all(Option::is_none)
    }

    /// Reads the updates of a network of these sizes; layers without tensors are left as they are.
    pub fn read(weights: &Weights, sizes: &Sizes) -> Result<Self, WeightsError> {
        let (d, wide) = (sizes.config.hidden_size, sizes.config.intermediate_size);
        let layer = |number: usize| {
            let name = |part: &str| format!("encoder.layer.{number}.{part}");
            if weights.shape(&name("attention.attn.q.a")).is_err() {
                return Ok(None);
            }
            let low_rank = |part: &str, into| LowRank::read(weights, &name(part), into, d);
            let [q, k, v] =
                ["q", "k", "v"].map(|part| low_rank(&format!("attention.attn.{part}"), d));
            let (out, narrow) = (low_rank("attention.attn.o", d)?, low_rank("output.dense", wide)?);
            Ok(Some(LayerAdapter { qkv: [q?, k?, v?], out, narrow }))
        };
        let layers = (0..sizes.config.num_hidden_layers).map(layer);
        Ok(Self { layers: layers.collect::<Result<_, WeightsError>>()? })
    }
}

impl LayerAdapter {
    fn qkv(&self, x: &Tensor) -> candle_core::Result<Tensor> {
        let [q, k, v] = &self.qkv;
        Tensor::cat(&[q.forward(x)?, k.forward(x)?, v.forward(x)?], 1) // [N, 3·d]
    }
}

struct Layer {
    qkv: Linear, // [3·d, d]
    out: Linear, // [d, d]
    attention_norm: Norm,
    wide: Linear,   // [4·d, d]
    narrow: Linear, // [d, 4·d]
    norm: Norm,
}

impl Mpnet {
    /// Reads the network; what is wrong with its tensors is said now.
    pub fn read(weights: &Weights, sizes: &Sizes) -> Result<Self, WeightsError> {
        let Sizes { config, longest } = sizes.clone();
        let d = config.hidden_size;
        let embedding = |name: &str, rows| {
            weights.tensor(&format!("embeddings.{name}.weight"), &[rows, d], &Device::Cpu)
        };
        let layers = (0..config.num_hidden_layers).map(|i| Layer::load(weights, &config, i));
        Ok(Self {
            words: embedding("word_embeddings", config.vocab_size)?,
            positions: embedding("position_embeddings", config.max_position_embeddings)?,
            norm: norm(weights, "embeddings.LayerNorm", &config)?,
            relative: relative(weights, &config, longest)?,
            layers: layers.collect::<Result<_, _>>()?,
            config,
        })
    }

    /// From the tokens of some texts to one row for each: \[texts, d\]. The texts lie one after
    /// the other as N rows, so that nothing is spent on padding.
    pub fn forward<'a>(
        &self,
        texts: impl Iterator<Item = PooledText<'a>>,
        adapter: Option<&Adapter>,
    ) -> candle_core::Result<Vec<f32>> {
        let (mut tokens, mut places) = (Vec::new(), Vec::new());
        let (mut spans, mut pooled) = (Vec::new(), Vec::new());
        for text in texts {
            let length = text.tokens.len();
            spans.push((tokens.len(), length));
            pooled.push((tokens.len(), text.pooled));
            tokens.extend_from_slice(text.tokens);
            // Positions count from the one after the padding token's.
            places.extend((0..length).map(|i| (i + self.config.pad_token_id + 1) as u32));
        }
        let words = self.words.embedding(&Tensor::new(tokens, &Device::Cpu)?)?; // [N, d]
        let positions = self.positions.embedding(&Tensor::new(places, &Device::Cpu)?)?; // [N, d]
        let mut x = self.norm.forward_owned((words + positions)?)?; // [N, d]
        for (number, layer) in self.layers.iter().enumerate() {
            let adapter = adapter.and_then(|adapter| adapter.layers.get(number)?.as_ref());
            x = layer.forward(&x, self.attention(&spans), adapter)?;
        }
        mean(&x, &pooled)?.flatten_all()?.to_vec1() // [texts, d]
    }

    fn attention<'a>(&'a self, spans: &'a [(usize, usize)]) -> Attention<'a> {
        let heads = self.config.num_attention_heads;
        Attention { heads, spans, relative: Some(&self.relative), queries: Queries::All }
    }
}

impl Layer {
    fn load(weights: &Weights, config: &Config, number: usize) -> Result<Self, WeightsError> {
        let (d, wide) = (config.hidden_size, config.intermediate_size);
        let name = |part: &str| format!("encoder.layer.{number}.{part}");
        Ok(Self {
            qkv: stacked(weights, &name("attention.attn"), d)?,
            out: linear(weights, &name("attention.attn.o"), d, d)?,
            attention_norm: norm(weights, &name("attention.LayerNorm"), config)?,
            wide: linear(weights, &name("intermediate.dense"), wide, d)?,
            narrow: linear(weights, &name("output.dense"), d, wide)?,
            norm: norm(weights, &name("output.LayerNorm"), config)?,
        })
    }

    fn forward(
        &self,
        x: &Tensor,
        attention: Attention,
        adapter: Option<&LayerAdapter>,
    ) -> candle_core::Result<Tensor> {
        let added = |y: Tensor, update: Option<candle_core::Result<Tensor>>| match update {
            Some(update) => y + update?,
            None => Ok(y),
        };
        let qkv = added(self.qkv.forward(x)?, adapter.map(|a| a.qkv(x)))?; // [N, 3·d]
        let attended = attention.forward(&qkv)?; // [N, d]
        let out = self.out.forward_added(&attended, x)?; // [N, d]
        let out = added(out, adapter.map(|a| a.out.forward(&attended)))?;
        let x = self.attention_norm.forward_owned(out)?; // [N, d]
        let wide = self.wide.forward_activated(&x, Activation::Gelu)?; // [N, 4·d]
        let narrow = self.narrow.forward_added(&wide, &x)?; // [N, d]
        self.norm.forward_owned(added(narrow, adapter.map(|a| a.narrow.forward(&wide)))?)
    }
}

fn linear(weights: &Weights, name: &str, out: usize, into: usize) -> Result<Linear, WeightsError> {
    Ok(Linear {
        weight: weights.tensor(&format!("{name}.weight"), &[out, into], &Device::Cpu)?,
        bias: weights.tensor(&format!("{name}.bias"), &[out], &Device::Cpu)?,
    })
}

/// Queries, keys and values as one product.
fn stacked(weights: &Weights, name: &str, d: usize) -> Result<Linear, WeightsError> {
    let parts = ["q", "k", "v"].map(|part| linear(weights, &format!("{name}.{part}"), d, d));
    let [q, k, v] = parts;
    let (q, k, v) = (q?, k?, v?);
    Ok(Linear {
        weight: Tensor::cat(&[q.weight, k.weight, v.weight], 0)?,
        bias: Tensor::cat(&[q.bias, k.bias, v.bias], 0)?,
    })
}

fn norm(weights: &Weights, name: &str, config: &Config) -> Result<Norm, WeightsError> {
    let part =
        |part: &str| weights.tensor(&format!("{name}.{part}"), &[config.hidden_size], &Device::Cpu);
    Ok(Norm { weight: part("weight")?, bias: part("bias")?, eps: config.layer_norm_eps })
}

/// The learnt number per bucket of distances and head, spread out over all distances.
fn relative(weights: &Weights, config: &Config, longest: usize) -> Result<Relative, WeightsError> {
    let (buckets, heads) = (config.relative_attention_num_buckets, config.num_attention_heads);
    let learnt = weights.numbers("encoder.relative_attention_bias.weight", &[buckets, heads])?;
    let reach = longest as i64 - 1;
    let distances = (0..heads).flat_map(|head| (-reach..=reach).map(move |far| (head, far)));
    let table = distances.map(|(head, far)| learnt[bucket(far, buckets) * heads + head]).collect();
    Ok(Relative { longest, table })
}

/// Near distances have a bucket each, far ones (up to 128) share them logarithmically; keys after
/// the query have their own half.
fn bucket(distance: i64, buckets: usize) -> usize {
    let half = buckets / 2;
    let exact = half / 2;
    let side = if distance > 0 { half } else { 0 };
    let far = distance.unsigned_abs() as usize;
    if far < exact {
        return side + far;
    }
    let ratio = (far as f32 / exact as f32).ln() / (128.0 / exact as f32).ln();
    side + (exact + (ratio * (half - exact) as f32) as usize).min(half - 1)
}

/// The mean of each text's rows. Its length becomes 1 elsewhere.
fn mean(x: &Tensor, spans: &[(usize, usize)]) -> candle_core::Result<Tensor> {
    let means = spans.iter().map(|&(start, length)| x.narrow(0, start, length)?.mean(0));
    Tensor::stack(&means.collect::<candle_core::Result<Vec<_>>>()?, 0)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn buckets_follow_the_distance() {
        // From transformers' MPNetEncoder.relative_position_bucket.
        let known = [(0, 0), (-1, 1), (1, 17), (-7, 7), (-8, 8), (12, 25), (-16, 10), (64, 30)];
        for (distance, expected) in known {
            assert_eq!(bucket(distance, 32), expected, "{distance}");
        }
        assert_eq!(bucket(-380, 32), 15);
        assert_eq!(bucket(380, 32), 31);
    }

    const D: usize = 8;
    const WIDE: usize = 16;
    const RANK: usize = 2;

    /// Tensors by name, and their bytes as a safetensors file.
    type Tensors = std::collections::BTreeMap<String, Tensor>;

    fn sizes() -> Sizes {
        let config = Config {
            vocab_size: 20,
            hidden_size: D,
            num_hidden_layers: 2,
            num_attention_heads: 2,
            intermediate_size: WIDE,
            max_position_embeddings: 30,
            relative_attention_num_buckets: 8,
            layer_norm_eps: 1e-5,
            pad_token_id: 1,
        };
        Sizes::new(config, 24, Path::new("tiny")).unwrap()
    }

    /// A tensor of numbers between -0.5 and 0.5 that its name decides.
    fn tensor(name: &str, shape: &[usize]) -> Tensor {
        let mut state =
            name.bytes().fold(7u32, |state, byte| state * 31 % 65_521 + u32::from(byte));
        let number = |_| {
            state = state.wrapping_mul(1_664_525).wrapping_add(1_013_904_223);
            (state >> 8) as f32 / (1 << 24) as f32 - 0.5
        };
        let numbers: Vec<f32> = (0..shape.iter().product()).map(number).collect();
        Tensor::from_vec(numbers, shape, &Device::Cpu).unwrap()
    }

    fn base() -> Tensors {
        let mut shapes: Vec<(String, Vec<usize>)> = vec![
            ("embeddings.word_embeddings.weight".into(), vec![20, D]),
            ("embeddings.position_embeddings.weight".into(), vec![30, D]),
            ("embeddings.LayerNorm.weight".into(), vec![D]),
            ("embeddings.LayerNorm.bias".into(), vec![D]),
            ("encoder.relative_attention_bias.weight".into(), vec![8, 2]),
        ];
        for layer in 0..2 {
            let mut part = |name: &str, shape: &[usize]| {
                let name = format!("encoder.layer.{layer}.{name}");
                shapes.push((format!("{name}.weight"), shape.to_vec()));
                shapes.push((format!("{name}.bias"), vec![shape[0]]));
            };
            for name in ["q", "k", "v", "o"] {
                part(&format!("attention.attn.{name}"), &[D, D]);
            }
            part("attention.LayerNorm", &[D]);
            part("intermediate.dense", &[WIDE, D]);
            part("output.dense", &[D, WIDE]);
            part("output.LayerNorm", &[D]);
        }
        shapes.iter().map(|(name, shape)| (name.clone(), tensor(name, shape))).collect()
    }

    /// An adapter of the second layer.
    fn update() -> Tensors {
        let parts =
            ["attention.attn.q", "attention.attn.k", "attention.attn.v", "attention.attn.o"];
        let parts = parts.map(|part| (part, D)).into_iter().chain([("output.dense", WIDE)]);
        let both = |(part, into): (&str, usize)| {
            let name = format!("encoder.layer.1.{part}");
            let (a, b) = (format!("{name}.a"), format!("{name}.b"));
            [(a.clone(), tensor(&a, &[into, RANK])), (b.clone(), tensor(&b, &[RANK, D]))]
        };
        parts.flat_map(both).collect()
    }

    fn weights(tensors: &Tensors) -> Weights {
        Weights::from_bytes("tiny", &safetensors::serialize(tensors, None).unwrap()).unwrap()
    }

    /// The base with the update added to its weights.
    fn merged() -> Tensors {
        let (mut base, update) = (base(), update());
        for name in update.keys().filter_map(|name| name.strip_suffix(".a")) {
            let (a, b) = (&update[&format!("{name}.a")], &update[&format!("{name}.b")]);
            let weight = base.get_mut(&format!("{name}.weight")).unwrap();
            *weight = (&*weight + a.matmul(b).unwrap().t().unwrap()).unwrap();
        }
        base
    }

    fn rows(tensors: &Tensors, adapter: Option<&Adapter>, texts: &[PooledText<'_>]) -> Vec<f32> {
        let network = Mpnet::read(&weights(tensors), &sizes()).unwrap();
        network.forward(texts.iter().copied(), adapter).unwrap()
    }

    fn distance(a: &[f32], b: &[f32]) -> f32 {
        a.iter().zip(b).map(|(a, b)| (a - b).abs()).fold(0.0, f32::max)
    }

    #[test]
    fn an_adapter_equals_the_network_with_the_update_merged() {
        let adapter = Adapter::read(&weights(&update()), &sizes()).unwrap();
        let texts = [&[0, 5, 9, 2][..], &[0, 7, 2]];
        let texts = texts.map(|tokens| PooledText { tokens, pooled: tokens.len() });
        let adapted = rows(&base(), Some(&adapter), &texts);
        assert!(distance(&adapted, &rows(&merged(), None, &texts)) < 1e-5);
        assert!(
            distance(&adapted, &rows(&base(), None, &texts)) > 0.01,
            "it must change something"
        );
    }

    #[test]
    fn context_changes_a_step_without_being_averaged() {
        let step = [0, 5, 9, 2];
        let read = |context: &[u32], pooled| {
            let tokens = [&step[..], context].concat();
            rows(&base(), None, &[PooledText { tokens: &tokens, pooled }])
        };
        let alone = read(&[], 4);
        assert!(distance(&alone, &read(&[11, 12, 2], 4)) > 1e-3, "the context is attended to");
        assert!(distance(&read(&[11, 2], 4), &read(&[11, 2], 6)) > 1e-3, "but not averaged");
    }
}
