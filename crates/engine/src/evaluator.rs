//! F_R, the procedure evaluator: how likely a sequence of clips is a correct, coherent
//! demonstration of a procedure. Config, constructor, forward, scoring.
//!
//! The tensors have the names of this PyTorch module, and load in it (recipes/golden/evaluator.py):
//! `project = Linear(2e, d)`, `cls = Parameter(d)`, `position = Embedding(1 + max_steps, d)`,
//! `encoder = TransformerEncoder(TransformerEncoderLayer(d, heads, hidden, norm_first), layers)`
//! (with a last `norm` if norm_first), `head = Sequential(Linear(d, d), activation, Linear(d, 1))`.

use std::collections::{BTreeMap, HashMap};
use std::path::{Path, PathBuf};

use candle_core::{D, Device, Tensor, Var};
use rayon::prelude::*;
use serde::{Deserialize, Serialize};
use stitch_core::cover::Sequence;
use stitch_core::features::Features;
use stitch_core::pool::Pool;

use crate::encoder::EncoderId;
use crate::files::{self, FileError};
use crate::kernels::{Activation, Attention, Linear, Norm, Queries};
use crate::models::weights::{self, Weights, WeightsError};
use crate::models::{self, Card, Store};
use crate::scorer::{Query, Scorer, ScorerError};

/// Sequences scored in one pass: enough to feed the matrix products, few enough for the cache.
const CHUNK: usize = 64;

/// config.json of an evaluator.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Config {
    /// Always `evaluator`: tells its folder from that of another model.
    pub kind: Kind,
    /// The encoder whose features it was trained on.
    pub encoder: EncoderId,
    /// The domain it was trained for, such as `cooking`.
    pub domain: String,
    /// d: the length of a token.
    pub width: usize,
    /// How many layers the transformer has.
    pub layers: usize,
    /// How many heads share the attention of a layer.
    pub heads: usize,
    /// The width of a layer's hidden part.
    pub hidden: usize,
    /// The share of numbers left out in training.
    pub dropout: f64,
    /// Whether a layer normalises before its parts instead of after them.
    pub norm_first: bool,
    /// What the hidden parts do with their sums.
    pub activation: Activation,
    /// The most steps one pass can take; a longer procedure is scored in windows.
    pub max_steps: usize,
}

/// The kind of a model, in its config.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum Kind {
    /// F_R.
    Evaluator,
}

impl Config {
    /// The paper's network for features of this encoder.
    pub fn paper(encoder: EncoderId, domain: &str) -> Self {
        Self {
            kind: Kind::Evaluator,
            width: encoder.dim,
            encoder,
            domain: domain.into(),
            layers: 4,
            heads: 8,
            hidden: 2048,
            dropout: 0.1,
            norm_first: false,
            activation: Activation::Relu,
            max_steps: 32,
        }
    }

    fn check(&self, path: &Path) -> Result<(), WeightsError> {
        let sizes = [self.width, self.layers, self.heads, self.hidden, self.max_steps];
        let positive = self.encoder.dim > 0 && sizes.iter().all(|size| *size > 0);
        let sound =
            positive && self.width.is_multiple_of(self.heads) && (0.0..1.0).contains(&self.dropout);
        if sound {
            return Ok(());
        }
        let reason = "the sizes in it do not make an evaluator; train it again".into();
        Err(WeightsError::Config { path: path.to_owned(), reason })
    }
}

/// Why there is no evaluator.
#[derive(Debug, thiserror::Error)]
pub enum EvaluatorError {
    /// The model's folder is not what it should be.
    #[error(transparent)]
    Weights(#[from] WeightsError),
    /// The evaluator was trained on another encoder's features.
    #[error(
        "the evaluator was trained on features of {expected}, these are of {found}; index the \
        library with the former, or train an evaluator with `stitch train`"
    )]
    Encoder {
        /// The encoder of its training.
        expected: EncoderId,
        /// The encoder of the features at hand.
        found: EncoderId,
    },
    /// The tensor library failed.
    #[error("the evaluator failed: {0}")]
    Tensor(#[from] candle_core::Error),
    /// A file could not be written.
    #[error(transparent)]
    File(#[from] FileError),
    /// The weights could not be put into a file.
    #[error("{}: {reason}", path.display())]
    NotSaved {
        /// Which file.
        path: PathBuf,
        /// What the writer said.
        reason: String,
    },
}

/// The procedure evaluator.
pub struct Evaluator {
    config: Config,
    device: Device,
    project: Linear,  // [d, 2e]
    cls: Tensor,      // [d]
    position: Tensor, // [1 + max_steps, d]; row 0 is the CLS token's
    layers: Vec<Layer>,
    norm: Option<Norm>,
    head: (Linear, Linear), // [d, d], [1, d]
    parameters: BTreeMap<String, Tensor>,
}

struct Layer {
    qkv: Linear, // [3·d, d]
    out: Linear, // [d, d]
    norm1: Norm,
    linear1: Linear, // [hidden, d]
    linear2: Linear, // [d, hidden]
    norm2: Norm,
    norm_first: bool,
    activation: Activation,
}

/// Which rows belong together: B sequences of T tokens each, of which the first `lengths[b]` count.
struct Shape<'a> {
    tokens: usize,
    lengths: &'a [usize],
}

/// Leaves out numbers in training, the same ones for the same seed.
pub struct Dropout {
    rate: f64,
    state: u64,
}

impl Evaluator {
    /// Loads an evaluator from its folder.
    pub fn load(folder: &Path, device: &Device) -> Result<Self, EvaluatorError> {
        let config: Config = weights::read_json(folder, "config.json")?;
        config.check(&folder.join("config.json"))?;
        let weights = Weights::open(folder)?;
        Self::build(config, device, |name, shape| weights.tensor(name, shape, device))
    }

    /// The evaluator in the store that was trained on this encoder's features; none if there is
    /// none. Folders of other models are passed over.
    pub fn for_encoder(store: &Store, encoder: &EncoderId) -> Result<Option<Self>, EvaluatorError> {
        for folder in store.folders() {
            let config = weights::read_json::<Config>(&folder, "config.json");
            if config.is_ok_and(|config| config.encoder == *encoder) {
                return Self::load(&folder, &Device::Cpu).map(Some);
            }
        }
        Ok(None)
    }

    /// An untrained evaluator whose tensors are variables, drawn from a seed as PyTorch draws
    /// them.
    pub fn fresh(config: Config, seed: u64, device: &Device) -> Result<Self, EvaluatorError> {
        config.check(Path::new("config.json"))?;
        let mut state = seed;
        Self::build(config, device, |name, shape| {
            let count: usize = shape.iter().product();
            let bound = bound(name, shape);
            let one = match name.contains("norm") && name.ends_with("weight") {
                true => 1.0,
                false => 0.0,
            };
            let draw = |_| one + bound * (2.0 * uniform(&mut state) - 1.0);
            let numbers: Vec<f32> = (0..count).map(draw).collect();
            let variable = Var::from_tensor(&Tensor::from_vec(numbers, shape, device)?)?;
            Ok(variable.into_inner())
        })
    }

    fn build(
        config: Config,
        device: &Device,
        mut take: impl FnMut(&str, &[usize]) -> Result<Tensor, WeightsError>,
    ) -> Result<Self, EvaluatorError> {
        let mut parameters = BTreeMap::new();
        let mut take = |name: &str, shape: &[usize]| {
            let tensor = take(name, shape)?;
            parameters.insert(name.to_owned(), tensor.clone());
            Ok::<_, WeightsError>(tensor)
        };
        let d = config.width;
        let project = linear(&mut take, "project", d, 2 * config.encoder.dim)?;
        let cls = take("cls", &[d])?;
        let position = take("position.weight", &[1 + config.max_steps, d])?;
        let layers = (0..config.layers).map(|number| Layer::build(&config, number, &mut take));
        let layers = layers.collect::<Result<Vec<_>, WeightsError>>()?;
        let last = config.norm_first.then(|| norm(&mut take, "encoder.norm", d)).transpose()?;
        let head = (linear(&mut take, "head.0", d, d)?, linear(&mut take, "head.2", 1, d)?);
        let device = device.clone();
        Ok(Self { config, device, project, cls, position, layers, norm: last, head, parameters })
    }

    /// What it is made of.
    pub fn config(&self) -> &Config {
        &self.config
    }

    /// All tensors by name; variables if the evaluator is [`Evaluator::fresh`].
    pub fn parameters(&self) -> &BTreeMap<String, Tensor> {
        &self.parameters
    }

    /// That the features at hand are of the encoder it was trained on.
    pub fn check_encoder(&self, found: &EncoderId) -> Result<(), EvaluatorError> {
        if *found == self.config.encoder {
            return Ok(());
        }
        let (expected, found) = (self.config.encoder.clone(), found.clone());
        Err(EvaluatorError::Encoder { expected, found })
    }

    /// Writes weights, config and card into a folder, which is made if need be.
    pub fn save(&self, folder: &Path, mut card: Card) -> Result<(), EvaluatorError> {
        std::fs::create_dir_all(folder).map_err(FileError::at(folder))?;
        let path = folder.join(Weights::FILE);
        let not_saved = |reason: String| EvaluatorError::NotSaved { path: path.clone(), reason };
        let weights = safetensors::serialize(self.parameters.iter(), None)
            .map_err(|error| not_saved(error.to_string()))?;
        let config = serde_json::to_vec_pretty(&self.config)
            .map_err(|error| not_saved(error.to_string()))?;
        for (name, bytes) in [(Weights::FILE, &weights), ("config.json", &config)] {
            card.sha256.insert(name.into(), models::sha256(bytes));
            files::write_whole(&folder.join(name), bytes)?;
        }
        Ok(card.write(folder)?)
    }

    /// The logit of each sequence \[B\], from its steps' text and clip features side by side
    /// \[B, N, 2e\], of which the first `lengths[b]` count. With gradients if the evaluator's
    /// tensors are variables; `dropout` in training.
    pub fn logits(
        &self,
        steps: &Tensor,
        lengths: &[usize],
        mut dropout: Option<&mut Dropout>,
    ) -> Result<Tensor, EvaluatorError> {
        let (b, n, _) = steps.dims3()?;
        let d = self.config.width;
        let places: Vec<u32> = (0..b).flat_map(|_| 1..=n as u32).collect();
        let tokens = self.embed(&steps.flatten(0, 1)?, places)?; // [B·N, d]
        let cls = self.cls_token()?.expand((b, 1, d))?; // [B, 1, d]
        let x = Tensor::cat(&[&cls, &tokens.reshape((b, n, d))?], 1)?; // [B, 1 + N, d]
        let x = drop_out(x.flatten(0, 1)?, &mut dropout)?; // [B·(1 + N), d]
        let lengths: Vec<usize> = lengths.iter().map(|length| 1 + length).collect();
        let qkv = self.layers[0].qkv(&x)?; // [B·(1 + N), 3·d]
        let shape = Shape { tokens: 1 + n, lengths: &lengths };
        Ok(self.classify(x, qkv, &shape, dropout)?)
    }

    /// The tokens of steps: projected, with their places. \[P, 2e\] -> \[P, d\]
    fn embed(&self, steps: &Tensor, places: Vec<u32>) -> candle_core::Result<Tensor> {
        let places = Tensor::new(places, &self.device)?;
        self.project.forward_added(steps, &self.position.embedding(&places)?)
    }

    /// \[1, d\]
    fn cls_token(&self) -> candle_core::Result<Tensor> {
        self.cls.unsqueeze(0)? + self.position.narrow(0, 0, 1)?
    }

    /// From tokens \[B·T, d\] and the first layer's queries, keys and values \[B·T, 3·d\] to one
    /// logit per sequence \[B\]. In the last layer only the CLS token asks: nobody reads the rest.
    fn classify(
        &self,
        mut x: Tensor,
        mut qkv: Tensor,
        shape: &Shape,
        mut dropout: Option<&mut Dropout>,
    ) -> candle_core::Result<Tensor> {
        for (number, layer) in self.layers.iter().enumerate() {
            if number > 0 {
                qkv = layer.qkv(&x)?; // [B·T, 3·d]
            }
            let last = number + 1 == self.layers.len();
            let queries = if last { Queries::First } else { Queries::All };
            let attended = self.attend(&qkv, shape, queries)?; // [B·T, d] or [B, d]
            if last {
                x = first_tokens(&x, shape)?; // [B, d]
            }
            x = layer.finish(&x, &attended, &mut dropout)?;
        }
        let x = match &self.norm {
            Some(norm) => norm.forward_owned(x)?,
            None => x,
        };
        let hidden = self.head.0.forward_activated(&x, self.config.activation)?; // [B, d]
        self.head.1.forward(&hidden)?.squeeze(1) // [B]
    }

    fn attend(&self, qkv: &Tensor, shape: &Shape, queries: Queries) -> candle_core::Result<Tensor> {
        let heads = self.config.heads;
        if !qkv.device().is_cpu() || qkv.track_op() {
            return attend_padded(qkv, shape, heads, queries);
        }
        let starts = shape.lengths.iter().enumerate();
        let spans: Vec<_> = starts.map(|(b, length)| (b * shape.tokens, *length)).collect();
        Attention { heads, spans: &spans, relative: None, queries }.forward(qkv)
    }
}

/// The first token of each sequence: \[B·T, d\] -> \[B, d\]
fn first_tokens(x: &Tensor, shape: &Shape) -> candle_core::Result<Tensor> {
    let b = shape.lengths.len();
    x.reshape((b, shape.tokens, ()))?.narrow(1, 0, 1)?.squeeze(1)?.contiguous()
}

/// Attention in plain tensor operations, for gradients and GPUs.
fn attend_padded(
    qkv: &Tensor,
    shape: &Shape,
    heads: usize,
    queries: Queries,
) -> candle_core::Result<Tensor> {
    let (b, t) = (shape.lengths.len(), shape.tokens);
    let size = qkv.dim(1)? / 3 / heads;
    let parts = qkv.reshape((b, t, 3, heads, size))?.permute((2, 0, 3, 1, 4))?; // [3, B, H, T, s]
    let asking = if queries == Queries::All { t } else { 1 };
    let q = parts.get(0)?.narrow(2, 0, asking)?.contiguous()?; // [B, H, A, s]
    let k = parts.get(1)?.contiguous()?; // [B, H, T, s]
    let v = parts.get(2)?.contiguous()?; // [B, H, T, s]
    let scores = (q.matmul(&k.t()?)? / (size as f64).sqrt())?; // [B, H, A, T]
    let padding = shape.lengths.iter().flat_map(|length| {
        (0..t).map(move |token| if token < *length { 0.0f32 } else { f32::MIN / 2.0 })
    });
    let padding = Tensor::from_iter(padding, qkv.device())?.reshape((b, 1, 1, t))?;
    let scores = scores.broadcast_add(&padding)?;
    let shares = candle_nn::ops::softmax(&scores, D::Minus1)?; // [B, H, A, T]
    shares.matmul(&v)?.transpose(1, 2)?.reshape((b * asking, heads * size)) // [B·A, d]
}

impl Layer {
    fn build(
        config: &Config,
        number: usize,
        take: &mut impl FnMut(&str, &[usize]) -> Result<Tensor, WeightsError>,
    ) -> Result<Self, WeightsError> {
        let (d, hidden) = (config.width, config.hidden);
        let name = |part: &str| format!("encoder.layers.{number}.{part}");
        Ok(Self {
            qkv: Linear {
                weight: take(&name("self_attn.in_proj_weight"), &[3 * d, d])?,
                bias: take(&name("self_attn.in_proj_bias"), &[3 * d])?,
            },
            out: linear(take, &name("self_attn.out_proj"), d, d)?,
            norm1: norm(take, &name("norm1"), d)?,
            linear1: linear(take, &name("linear1"), hidden, d)?,
            linear2: linear(take, &name("linear2"), d, hidden)?,
            norm2: norm(take, &name("norm2"), d)?,
            norm_first: config.norm_first,
            activation: config.activation,
        })
    }

    /// Queries, keys and values side by side: \[R, d\] -> \[R, 3·d\]
    fn qkv(&self, x: &Tensor) -> candle_core::Result<Tensor> {
        match self.norm_first {
            true => self.qkv.forward(&self.norm1.forward(x)?),
            false => self.qkv.forward(x),
        }
    }

    /// What follows the attention: \[R, d\] and \[R, d\] -> \[R, d\]
    fn finish(
        &self,
        x: &Tensor,
        attended: &Tensor,
        dropout: &mut Option<&mut Dropout>,
    ) -> candle_core::Result<Tensor> {
        let x = join(&self.out, attended, x, dropout)?;
        let x = if self.norm_first { x } else { self.norm1.forward_owned(x)? };
        let into = if self.norm_first { self.norm2.forward(&x)? } else { x.clone() };
        let hidden = self.linear1.forward_activated(&into, self.activation)?; // [R, hidden]
        let x = join(&self.linear2, &drop_out(hidden, dropout)?, &x, dropout)?;
        if self.norm_first { Ok(x) } else { self.norm2.forward_owned(x) }
    }
}

/// residual + dropout(linear(x))
fn join(
    linear: &Linear,
    x: &Tensor,
    residual: &Tensor,
    dropout: &mut Option<&mut Dropout>,
) -> candle_core::Result<Tensor> {
    match dropout {
        None => linear.forward_added(x, residual),
        Some(_) => drop_out(linear.forward(x)?, dropout)? + residual,
    }
}

fn linear(
    take: &mut impl FnMut(&str, &[usize]) -> Result<Tensor, WeightsError>,
    name: &str,
    out: usize,
    into: usize,
) -> Result<Linear, WeightsError> {
    let weight = take(&format!("{name}.weight"), &[out, into])?;
    Ok(Linear { weight, bias: take(&format!("{name}.bias"), &[out])? })
}

fn norm(
    take: &mut impl FnMut(&str, &[usize]) -> Result<Tensor, WeightsError>,
    name: &str,
    d: usize,
) -> Result<Norm, WeightsError> {
    let weight = take(&format!("{name}.weight"), &[d])?;
    Ok(Norm { weight, bias: take(&format!("{name}.bias"), &[d])?, eps: 1e-5 })
}

/// How far from its centre a fresh number may lie: as PyTorch for linear layers and attention,
/// small for the CLS token and places, not at all for norms.
fn bound(name: &str, shape: &[usize]) -> f32 {
    match shape {
        _ if name.contains("norm") => 0.0,
        _ if name == "cls" || name.starts_with("position") => 0.035,
        [_] if name.contains("self_attn") => 0.0,
        [out, into] if name.ends_with("in_proj_weight") => (6.0 / (out + into) as f32).sqrt(),
        [_, into] => 1.0 / (*into as f32).sqrt(),
        _ => 0.02,
    }
}

/// A number from 0 to 1 (splitmix64).
fn uniform(state: &mut u64) -> f32 {
    *state = state.wrapping_add(0x9e37_79b9_7f4a_7c15);
    let mut z = *state;
    z = (z ^ (z >> 30)).wrapping_mul(0xbf58_476d_1ce4_e5b9);
    z = (z ^ (z >> 27)).wrapping_mul(0x94d0_49bb_1331_11eb);
    ((z ^ (z >> 31)) >> 40) as f32 / (1u64 << 24) as f32
}

impl Dropout {
    /// Leaves out this share of numbers, chosen by the seed.
    pub fn new(rate: f64, seed: u64) -> Self {
        Self { rate, state: seed }
    }

    fn mask(&mut self, like: &Tensor) -> candle_core::Result<Tensor> {
        let keep = 1.0 - self.rate as f32;
        let draw = |_| if uniform(&mut self.state) < keep { 1.0 / keep } else { 0.0 };
        let numbers: Vec<f32> = (0..like.elem_count()).map(draw).collect();
        Tensor::from_vec(numbers, like.shape(), like.device())
    }
}

fn drop_out(x: Tensor, dropout: &mut Option<&mut Dropout>) -> candle_core::Result<Tensor> {
    match dropout {
        Some(dropout) if dropout.rate > 0.0 => &x * dropout.mask(&x)?,
        _ => Ok(x),
    }
}

/// Every different (place, step, clip) of the candidates once, and the sequences as numbers of
/// these tokens.
#[derive(Default)]
struct Shared {
    numbers: HashMap<(usize, usize, usize), u32>,
    tokens: Vec<(usize, usize, usize)>,
    windows: HashMap<Vec<u32>, usize>,
    sequences: Vec<Vec<u32>>,
}

impl Shared {
    /// The sequences that stand for a candidate: its shown steps, or windows of them that overlap
    /// by half where they are too many for one pass. Gaps are left out.
    fn add(&mut self, Sequence(clips): &Sequence, most: usize) -> Vec<usize> {
        let shown = clips.iter().enumerate();
        let shown: Vec<_> = shown.filter_map(|(i, clip)| Some((i, (*clip)?.row()))).collect();
        let starts = window_starts(shown.len(), most).into_iter();
        let windows = starts.map(|start| &shown[start..shown.len().min(start + most)]);
        windows.map(|window| self.add_window(window)).collect()
    }

    fn add_window(&mut self, window: &[(usize, usize)]) -> usize {
        let places = window.iter().enumerate();
        let tokens = places.map(|(place, &(step, clip))| self.token((place, step, clip)));
        let tokens: Vec<u32> = tokens.collect();
        let next = self.sequences.len();
        *self.windows.entry(tokens).or_insert_with_key(|tokens| {
            self.sequences.push(tokens.clone());
            next
        })
    }

    fn token(&mut self, key: (usize, usize, usize)) -> u32 {
        *self.numbers.entry(key).or_insert_with(|| {
            self.tokens.push(key);
            self.tokens.len() as u32 // 0 is the CLS token
        })
    }
}

/// Where windows of `most` begin so that they cover `length`, overlapping by half; none for none.
fn window_starts(length: usize, most: usize) -> Vec<usize> {
    match length {
        0 => Vec::new(),
        _ if length <= most => vec![0],
        _ => {
            let stride = most.div_ceil(2);
            let starts = (0..length - most).step_by(stride);
            starts.chain([length - most]).collect()
        }
    }
}

impl Evaluator {
    /// One probability per sequence of tokens. A (place, step, clip) is projected once, and so
    /// are its queries, keys and values in the first layer, however many sequences contain it.
    fn probabilities(
        &self,
        shared: &Shared,
        query: &Features,
        pool: &Pool,
    ) -> Result<Vec<f32>, EvaluatorError> {
        let pairs = shared.tokens.iter().flat_map(|&(_, step, clip)| {
            query.row(step).iter().chain(pool.clip_features().row(clip)).copied()
        });
        let size = (shared.tokens.len(), 2 * self.config.encoder.dim);
        let pairs = Tensor::from_vec(pairs.collect::<Vec<f32>>(), size, &self.device)?; // [P, 2e]
        let places = shared.tokens.iter().map(|token| 1 + token.0 as u32).collect();
        let tokens = self.embed(&pairs, places)?; // [P, d]
        let tokens = Tensor::cat(&[self.cls_token()?, tokens], 0)?.detach(); // [1 + P, d]
        let qkv = self.layers[0].qkv(&tokens)?.detach(); // [1 + P, 3·d]
        let chunks = chunks_by_length(&shared.sequences);
        let done: Result<Vec<Vec<f32>>, EvaluatorError> =
            chunks.par_iter().map(|chunk| self.chunk(chunk, shared, &tokens, &qkv)).collect();
        let mut all = vec![0.0; shared.sequences.len()];
        for (chunk, scores) in chunks.iter().zip(done?) {
            chunk.iter().zip(scores).for_each(|(sequence, score)| all[*sequence] = score);
        }
        Ok(all)
    }

    /// The probabilities of some sequences of one length.
    fn chunk(
        &self,
        chunk: &[usize],
        shared: &Shared,
        tokens: &Tensor,
        qkv: &Tensor,
    ) -> Result<Vec<f32>, EvaluatorError> {
        let sequences = chunk.iter().map(|sequence| &shared.sequences[*sequence]);
        let length = 1 + sequences.clone().next().map_or(0, Vec::len);
        let rows =
            sequences.flat_map(|sequence| std::iter::once(0).chain(sequence.iter().copied()));
        let rows = Tensor::new(rows.collect::<Vec<u32>>(), &self.device)?; // [B·T]
        let (x, qkv) = (tokens.index_select(&rows, 0)?, qkv.index_select(&rows, 0)?);
        let lengths = vec![length; chunk.len()];
        let shape = Shape { tokens: length, lengths: &lengths };
        let logits = self.classify(x, qkv, &shape, None)?; // [B]
        let logits: Vec<f32> = logits.detach().to_vec1()?;
        Ok(logits.into_iter().map(|logit| 1.0 / (1.0 + (-logit).exp())).collect())
    }
}

/// Sequences of one length together, at most [`CHUNK`] at a time.
fn chunks_by_length(sequences: &[Vec<u32>]) -> Vec<Vec<usize>> {
    let mut order: Vec<usize> = (0..sequences.len()).collect();
    order.sort_by_key(|sequence| sequences[*sequence].len());
    let same = order.chunk_by(|a, b| sequences[*a].len() == sequences[*b].len());
    same.flat_map(|same| same.chunks(CHUNK)).map(<[usize]>::to_vec).collect()
}

impl Scorer for Evaluator {
    fn judges_coherence(&self) -> bool {
        true
    }

    fn name(&self) -> &str {
        "evaluator"
    }

    /// The probability that a candidate demonstrates the procedure, judged by its shown steps
    /// alone (all candidates of one query have the same gaps). One that shows nothing gets 0. A
    /// procedure longer than the evaluator takes is judged in windows, by their geometric mean.
    fn score(
        &self,
        query: &Query,
        pool: &Pool,
        candidates: &[Sequence],
    ) -> Result<Vec<f32>, ScorerError> {
        query.check(pool, candidates, self.config.encoder.dim)?;
        let mut shared = Shared::default();
        let most = self.config.max_steps;
        let windows: Vec<Vec<usize>> =
            candidates.iter().map(|candidate| shared.add(candidate, most)).collect();
        let all = self.probabilities(&shared, query.clip, pool);
        let all = all.map_err(|error| ScorerError::Failed(error.into()))?;
        Ok(windows.iter().map(|windows| geometric_mean(windows, &all)).collect())
    }
}

fn geometric_mean(windows: &[usize], probabilities: &[f32]) -> f32 {
    match windows {
        [] => 0.0,
        [only] => probabilities[*only],
        _ => {
            let logs = windows.iter().map(|window| probabilities[*window].max(1e-30).ln());
            (logs.sum::<f32>() / windows.len() as f32).exp()
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn windows_cover_everything_and_overlap() {
        assert!(window_starts(0, 4).is_empty());
        assert_eq!(window_starts(4, 4), [0]);
        assert_eq!(window_starts(5, 4), [0, 1]);
        assert_eq!(window_starts(9, 4), [0, 2, 4, 5]);
        assert_eq!(window_starts(3, 1), [0, 1, 2]);
    }
}
