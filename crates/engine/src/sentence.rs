//! Sentences to vectors: all-mpnet-base-v2 (MPNet, mean pooling) from safetensors.

use std::collections::HashMap;
use std::path::{Path, PathBuf};
use std::sync::{Arc, Mutex, PoisonError};

use candle_core::{Device, Tensor};
use rayon::prelude::*;
use serde::Deserialize;
use stitch_core::features::{Features, FeaturesError};
use tokenizers::Tokenizer;

use crate::kernels::{Activation, Attention, Linear, Norm, Queries, Relative};
use crate::models::tokenizer;
use crate::models::weights::{self, Weights, WeightsError};
use crate::progress::{Progress, Silent, Stopped};

/// The most tokens in one pass: enough to feed the matrix products, few enough to stay in cache.
const BATCH_TOKENS: usize = 512;

/// How many vectors are remembered: a procedure's steps are asked for again and again, by the query,
/// by encoders that build on this one and by measurements.
const REMEMBERED: usize = 4096;

/// Why a sentence has no vector.
#[derive(Debug, thiserror::Error)]
pub enum SentenceError {
    /// The model's folder is not what it should be.
    #[error(transparent)]
    Weights(#[from] WeightsError),
    /// The model's tokenizer cannot be used.
    #[error("{}: {reason}; fetch the model again", path.display())]
    Tokenizer {
        /// Which file.
        path: PathBuf,
        /// What its reader said.
        reason: String,
    },
    /// The tensor library failed.
    #[error("the sentences could not be encoded: {0}")]
    Tensor(#[from] candle_core::Error),
    /// The model made numbers that are none.
    #[error("the sentence model made unusable numbers: {0}")]
    Features(#[from] FeaturesError),
    /// The work was asked to stop.
    #[error(transparent)]
    Stopped(#[from] Stopped),
}

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

/// The sentence model with its tokenizer.
pub struct SentenceEncoder {
    tokenizer: PathAnd<Tokenizer>,
    sizes: Sizes,
    network: Mutex<Network>,
    remembered: Mutex<HashMap<String, Vec<f32>>>,
}

/// The network, read when the first text comes: videos in which nothing is said may need none.
enum Network {
    Unread(Weights),
    Read(Arc<Mpnet>),
}

struct PathAnd<T> {
    path: PathBuf,
    value: T,
}

impl SentenceEncoder {
    /// The model's name in the store.
    pub const MODEL: &str = "all-mpnet-base-v2";

    /// Opens the model in a folder. What is wrong with its tensors is said when they are read.
    pub fn load(folder: &Path) -> Result<Self, SentenceError> {
        let config: Config = weights::read_json(folder, "config.json")?;
        let limits: Limits = weights::read_json(folder, "sentence_bert_config.json")?;
        let sizes = Sizes::new(config, limits.max_seq_length, folder)?;
        let network = Mutex::new(Network::Unread(Weights::open(folder)?));
        let tokenizer = load_tokenizer(folder.join("tokenizer.json"), sizes.longest)?;
        Ok(Self { tokenizer, sizes, network, remembered: Mutex::default() })
    }

    /// The length of a vector.
    pub fn dim(&self) -> usize {
        self.sizes.config.hidden_size
    }

    fn network(&self) -> Result<Arc<Mpnet>, SentenceError> {
        let mut network = self.network.lock().unwrap_or_else(PoisonError::into_inner);
        let read = match &*network {
            Network::Read(read) => return Ok(read.clone()),
            Network::Unread(weights) => Arc::new(Mpnet::read(weights, &self.sizes)?),
        };
        *network = Network::Read(read.clone());
        Ok(read)
    }

    /// One vector of length 1 per text, in the order of the texts.
    pub fn encode(&self, texts: &[impl AsRef<str>]) -> Result<Features, SentenceError> {
        self.encode_with(texts, &Silent)
    }

    /// As [`SentenceEncoder::encode`], telling `progress` of every text done.
    pub fn encode_with(
        &self,
        texts: &[impl AsRef<str>],
        progress: &dyn Progress,
    ) -> Result<Features, SentenceError> {
        let (distinct, places) = distinct(texts);
        let mut rows = self.recall(&distinct);
        let is_new = |text: &usize| rows[*text].is_none();
        let new: Vec<usize> = (0..distinct.len()).filter(is_new).collect();
        let texts: Vec<&str> = new.iter().map(|text| distinct[*text]).collect();
        progress.advance((distinct.len() - new.len()) as u64);
        let vectors = self.encode_new(texts, progress)?;
        for (text, vector) in new.iter().zip(vectors.chunks_exact(self.dim())) {
            rows[*text] = Some(vector.to_vec());
        }
        self.remember(new.iter().map(|text| (distinct[*text], &rows[*text])));
        let data = places.iter().flat_map(|&text| rows[text].iter().flatten());
        Ok(Features::new(self.dim(), data.copied().collect())?)
    }

    /// The vectors of texts that were asked for before.
    fn recall(&self, texts: &[&str]) -> Vec<Option<Vec<f32>>> {
        let remembered = self.remembered.lock().unwrap_or_else(PoisonError::into_inner);
        texts.iter().map(|text| remembered.get(*text).cloned()).collect()
    }

    /// Forgets every vector, so that the next time can be measured.
    pub fn forget(&self) {
        self.remembered.lock().unwrap_or_else(PoisonError::into_inner).clear();
    }

    /// Keeps vectors for the next time; forgets all when there are too many.
    fn remember<'a>(&self, new: impl Iterator<Item = (&'a str, &'a Option<Vec<f32>>)>) {
        let mut remembered = self.remembered.lock().unwrap_or_else(PoisonError::into_inner);
        for (text, vector) in new {
            if remembered.len() >= REMEMBERED {
                remembered.clear();
            }
            if let Some(vector) = vector {
                remembered.insert(text.to_owned(), vector.clone());
            }
        }
    }

    /// The vectors of these texts, one after the other.
    fn encode_new(
        &self,
        texts: Vec<&str>,
        progress: &dyn Progress,
    ) -> Result<Vec<f32>, SentenceError> {
        if texts.is_empty() {
            return Ok(Vec::new());
        }
        let network = self.network()?;
        let tokens = self.tokenise(texts)?;
        let batches = batches(&tokens, rayon::current_num_threads());
        let done: Result<Vec<Vec<f32>>, SentenceError> = batches
            .par_iter()
            .map(|batch| {
                progress.check()?;
                let rows = network.forward(batch.iter().map(|text| tokens[*text].as_slice()))?;
                progress.advance(batch.len() as u64);
                Ok(rows.flatten_all()?.to_vec1()?)
            })
            .collect();
        Ok(scatter(&batches, &done?, tokens.len(), self.dim()))
    }

    fn tokenise(&self, texts: Vec<&str>) -> Result<Vec<Vec<u32>>, SentenceError> {
        let encoded = self.tokenizer.value.encode_batch_fast(texts, true).map_err(|error| {
            SentenceError::Tokenizer {
                path: self.tokenizer.path.clone(),
                reason: error.to_string(),
            }
        })?;
        Ok(encoded.iter().map(|text| text.get_ids().to_vec()).collect())
    }
}

/// The tokenizer, cutting texts at the model's longest instead of whatever its file says.
fn load_tokenizer(path: PathBuf, longest: usize) -> Result<PathAnd<Tokenizer>, SentenceError> {
    match tokenizer::load(&path, longest) {
        Ok(value) => Ok(PathAnd { path, value }),
        Err(error) => Err(SentenceError::Tokenizer { path, reason: error.to_string() }),
    }
}

/// The different texts, and for each text its number among them.
fn distinct(texts: &[impl AsRef<str>]) -> (Vec<&str>, Vec<usize>) {
    let mut numbers = HashMap::new();
    let mut distinct = Vec::new();
    let places = texts.iter().map(|text| {
        *numbers.entry(text.as_ref()).or_insert_with(|| {
            distinct.push(text.as_ref());
            distinct.len() - 1
        })
    });
    let places = places.collect();
    (distinct, places)
}

/// Groups of texts of similar length, longest first, so that no thread is left with a long one at
/// the end; few texts are spread over all threads.
fn batches(tokens: &[Vec<u32>], threads: usize) -> Vec<Vec<usize>> {
    let mut order: Vec<usize> = (0..tokens.len()).collect();
    order.sort_by_key(|&text| std::cmp::Reverse(tokens[text].len()));
    let total: usize = tokens.iter().map(Vec::len).sum();
    let most = BATCH_TOKENS.min(total.div_ceil(threads.max(1)));
    let mut batches: Vec<Vec<usize>> = Vec::new();
    let mut room = 0;
    for text in order {
        match batches.last_mut() {
            Some(batch) if room >= tokens[text].len() => batch.push(text),
            _ => {
                batches.push(vec![text]);
                room = most.max(tokens[text].len());
            }
        }
        room -= tokens[text].len();
    }
    batches
}

/// Rows in the order of the texts, from rows in the order of the batches.
fn scatter(batches: &[Vec<usize>], done: &[Vec<f32>], texts: usize, dim: usize) -> Vec<f32> {
    let mut rows = vec![0.0; texts * dim];
    for (batch, vectors) in batches.iter().zip(done) {
        for (&text, vector) in batch.iter().zip(vectors.chunks_exact(dim)) {
            rows[text * dim..][..dim].copy_from_slice(vector);
        }
    }
    rows
}

/// A config that makes a network.
#[derive(Clone)]
struct Sizes {
    config: Config,
    /// The most tokens of one text.
    longest: usize,
}

impl Sizes {
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
struct Mpnet {
    config: Config,
    words: Tensor,     // [vocabulary, d]
    positions: Tensor, // [positions, d]
    norm: Norm,
    relative: Relative,
    layers: Vec<Layer>,
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
    fn read(weights: &Weights, sizes: &Sizes) -> Result<Self, WeightsError> {
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
    fn forward<'a>(&self, texts: impl Iterator<Item = &'a [u32]>) -> Result<Tensor, SentenceError> {
        let (mut tokens, mut places, mut spans) = (Vec::new(), Vec::new(), Vec::new());
        for text in texts {
            spans.push((tokens.len(), text.len()));
            tokens.extend_from_slice(text);
            // Positions count from the one after the padding token's.
            places.extend((0..text.len()).map(|i| (i + self.config.pad_token_id + 1) as u32));
        }
        let words = self.words.embedding(&Tensor::new(tokens, &Device::Cpu)?)?; // [N, d]
        let positions = self.positions.embedding(&Tensor::new(places, &Device::Cpu)?)?; // [N, d]
        let mut x = self.norm.forward_owned((words + positions)?)?; // [N, d]
        for layer in &self.layers {
            x = layer.forward(&x, self.attention(&spans))?;
        }
        Ok(mean(&x, &spans)?) // [texts, d]
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

    fn forward(&self, x: &Tensor, attention: Attention) -> candle_core::Result<Tensor> {
        let qkv = self.qkv.forward(x)?; // [N, 3·d]
        let attended = attention.forward(&qkv)?; // [N, d]
        let x = self.attention_norm.forward_owned(self.out.forward_added(&attended, x)?)?; // [N, d]
        let wide = self.wide.forward_activated(&x, Activation::Gelu)?; // [N, 4·d]
        self.norm.forward_owned(self.narrow.forward_added(&wide, &x)?) // [N, d]
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

/// The mean of each text's rows. Its length becomes 1 in [`Features`].
fn mean(x: &Tensor, spans: &[(usize, usize)]) -> candle_core::Result<Tensor> {
    let means = spans.iter().map(|&(start, length)| x.narrow(0, start, length)?.mean(0));
    Tensor::stack(&means.collect::<candle_core::Result<Vec<_>>>()?, 0)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn identical_texts_are_encoded_once_and_keep_their_places() {
        let (texts, places) = distinct(&["b", "a", "b", ""]);
        assert_eq!(texts, ["b", "a", ""]);
        assert_eq!(places, [0, 1, 0, 2]);
    }

    #[test]
    fn batches_hold_every_text_once_within_their_size() {
        let tokens: Vec<Vec<u32>> = (0..300).map(|i| vec![0; 2 + i * 37 % 380]).collect();
        let batches = batches(&tokens, 2);
        let size = |batch: &Vec<usize>| batch.iter().map(|&i| tokens[i].len()).sum::<usize>();
        assert!(batches.iter().all(|batch| size(batch) <= BATCH_TOKENS));
        let mut all: Vec<usize> = batches.into_iter().flatten().collect();
        all.sort_unstable();
        assert!(all.into_iter().eq(0..300));
    }

    #[test]
    fn few_texts_are_spread_over_the_threads() {
        assert_eq!(batches(&vec![vec![0; 10]; 8], 2).len(), 2);
        assert!(batches(&[], 2).is_empty());
    }

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
}
