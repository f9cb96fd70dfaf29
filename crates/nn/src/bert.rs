//! Sentence models of the BERT family (MPNet, BERT, RoBERTa, XLM-RoBERTa) with mean pooling: tokens of texts
//! to one row for each, with an optional low-rank adapter.

use std::ops::Range;
use std::path::Path;

use serde::Deserialize;
use serde_json::{Map, Value};

use crate::error::NnError;
use crate::kernels::{self, Activation};
use crate::layers::{Attention, LayerNorm, Linear, RelativeBias};
use crate::matrix::{Cores, Matrix, multiply, multiply_into};
use crate::weights::{Scope, Weights, read_json};

/// config.json, as far as it matters here.
#[derive(Clone, Debug, Deserialize)]
struct Config {
    #[serde(default)]
    model_type: Family,
    /// GELU where it is not named, as in every model of these families.
    hidden_act: Option<String>,
    position_embedding_type: Option<String>,
    vocab_size: usize,
    hidden_size: usize,
    num_hidden_layers: usize,
    num_attention_heads: usize,
    intermediate_size: usize,
    max_position_embeddings: usize,
    /// Only MPNet has any.
    #[serde(default)]
    relative_attention_num_buckets: usize,
    layer_norm_eps: f64,
    pad_token_id: usize,
}

/// What differs between the models: how tensors are named, and how positions are told.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Deserialize)]
#[serde(rename_all = "kebab-case")]
enum Family {
    #[default]
    Mpnet,
    Bert,
    Roberta,
    XlmRoberta,
}

/// The names of a layer's tensors.
struct Names {
    q: &'static str,
    k: &'static str,
    v: &'static str,
    out: &'static str,
    attention_norm: &'static str,
}

const MPNET_NAMES: Names = Names {
    q: "attention.attn.q",
    k: "attention.attn.k",
    v: "attention.attn.v",
    out: "attention.attn.o",
    attention_norm: "attention.LayerNorm",
};

const BERT_NAMES: Names = Names {
    q: "attention.self.query",
    k: "attention.self.key",
    v: "attention.self.value",
    out: "attention.output.dense",
    attention_norm: "attention.output.LayerNorm",
};

impl Family {
    fn names(self) -> &'static Names {
        if self == Self::Mpnet { &MPNET_NAMES } else { &BERT_NAMES }
    }
}

impl Config {
    /// The row of the first token's position: all families but BERT count from the one after the padding
    /// token's.
    fn first_position(&self) -> usize {
        if self.model_type == Family::Bert { 0 } else { self.pad_token_id + 1 }
    }

    /// Why this network cannot be computed here.
    fn refusal(&self, limits: &Limits) -> Option<&'static str> {
        let (heads, d) = (self.num_attention_heads, self.hidden_size);
        let divides = heads > 0 && d > 0 && d.is_multiple_of(heads);
        let room =
            self.max_position_embeddings > self.first_position() && limits.max_seq_length > 0;
        let buckets = self.model_type != Family::Mpnet || self.relative_attention_num_buckets >= 4;
        let is = |name: &Option<String>, usual| name.as_deref().is_none_or(|name| name == usual);
        if !(divides && room && buckets) {
            Some("the sizes in it do not fit together; fetch the model again")
        } else if !is(&self.hidden_act, "gelu") || !is(&self.position_embedding_type, "absolute") {
            Some("only `gelu` with `absolute` positions is known; use another sentence model")
        } else {
            None
        }
    }
}

/// sentence_bert_config.json
#[derive(Clone, Debug, Deserialize)]
struct Limits {
    max_seq_length: usize,
}

/// The config of a model's folder, checked.
#[derive(Clone)]
pub struct BertConfig {
    config: Config,
    /// The most tokens of one text; further ones are not read.
    pub max_tokens: usize,
}

impl BertConfig {
    pub fn read(folder: &Path) -> Result<Self, NnError> {
        let config: Config = read_json(folder, "config.json")?;
        let limits: Limits = read_json(folder, "sentence_bert_config.json")?;
        if let Some(reason) = config.refusal(&limits) {
            return Err(NnError::Config {
                path: folder.join("config.json"),
                reason: reason.into(),
            });
        }
        check_pooling(folder)?;
        let positions = config.max_position_embeddings - config.first_position();
        Ok(Self { max_tokens: limits.max_seq_length.min(positions), config })
    }

    /// Of MPNet's family, as all-mpnet-base-v2 is.
    pub fn is_mpnet(&self) -> bool {
        self.config.model_type == Family::Mpnet
    }

    /// Whether it knows more languages than English, by the size of its vocabulary.
    pub fn is_multilingual(&self) -> bool {
        self.config.model_type == Family::XlmRoberta
            || self.config.vocab_size > MAX_ENGLISH_VOCABULARY
    }

    /// The length of a vector.
    pub fn dim(&self) -> usize {
        self.config.hidden_size
    }
}

/// English models have 30,000 to 50,000 tokens, multilingual ones 120,000 to 500,000.
const MAX_ENGLISH_VOCABULARY: usize = 100_000;

const POOLING: &str = "1_Pooling/config.json";

/// An error unless rows are means over tokens, as in a folder that does not say.
fn check_pooling(folder: &Path) -> Result<(), NnError> {
    let refused =
        |reason: &str| NnError::Config { path: folder.join(POOLING), reason: reason.into() };
    if folder.join("2_Dense").exists() {
        return Err(refused(
            "a dense layer follows it, which is not known; use another sentence model",
        ));
    }
    if !folder.join(POOLING).exists() {
        return Ok(());
    }
    let pooling: Map<String, Value> = read_json(folder, POOLING)?;
    let fits = |(name, value): (&String, &Value)| match name.as_str() {
        "pooling_mode" => value.as_str() == Some("mean"),
        "pooling_mode_mean_tokens" => value.as_bool() == Some(true),
        name => !name.starts_with("pooling_mode_") || value.as_bool() == Some(false),
    };
    if pooling.iter().all(fits) {
        return Ok(());
    }
    Err(refused("only mean pooling is known; use a sentence model with `pooling_mode_mean_tokens`"))
}

/// Embeddings, transformer layers, the mean over tokens.
pub struct Bert {
    config: BertConfig,
    words: Vec<f32>,     // [vocabulary, d]
    positions: Vec<f32>, // [positions, d]
    norm: LayerNorm,
    /// None where only the embeddings tell positions.
    relative: Option<RelativeBias>,
    layers: Vec<Layer>,
}

/// A text's tokens, and which of them are averaged: a row for each range.
#[derive(Clone, Debug)]
pub struct PooledText<'a> {
    /// Never empty.
    pub tokens: &'a [u32],
    /// None is empty; what lies beyond the most tokens of a text is cut off.
    pub pooled: Vec<Range<usize>>,
}

impl<'a> PooledText<'a> {
    /// One row: the mean of the first `count` tokens. What follows them is context.
    pub fn first(tokens: &'a [u32], count: usize) -> Self {
        Self { tokens, pooled: std::iter::once(0..count).collect() }
    }
}

/// Low-rank updates (LoRA) of some layers, over the same base weights.
pub struct Adapter {
    /// By layer; none where the layer stays as it is. Layers beyond these are not run.
    layers: Vec<Option<LayerAdapter>>,
}

struct LayerAdapter {
    qkv: [LowRank; 3],
    out: LowRank,
    narrow: LowRank,
}

/// x·a·b is added to a linear layer's output.
struct LowRank {
    a: Vec<f32>, // [in, rank]
    b: Vec<f32>, // [rank, out]
    rank: usize,
    outputs: usize,
}

impl LowRank {
    fn load(scope: &Scope<'_>, inputs: usize, outputs: usize) -> Result<Self, NnError> {
        let rank = scope.rows("b")?.max(1);
        let (a, b) = (scope.tensor("a", &[inputs, rank])?, scope.tensor("b", &[rank, outputs])?);
        Ok(Self { a, b, rank, outputs })
    }

    /// sum += x·a·b; a row of `sum` is `stride` long.
    fn add_to(&self, sum: &mut [f32], stride: usize, x: &[f32]) {
        let inputs = self.a.len() / self.rank;
        let mut low = vec![0.0; x.len() / inputs * self.rank]; // [N, rank]
        let a = Matrix::new(&self.a, self.rank);
        multiply(Matrix::new(x, inputs), a, &mut low, false, Cores::All);
        let b = Matrix::new(&self.b, self.outputs);
        multiply_into(Matrix::new(&low, self.rank), b, (sum, stride), true, Cores::All);
    }
}

impl Adapter {
    /// Whether it changes nothing, as one made for a deeper network or another family may.
    pub fn is_empty(&self) -> bool {
        self.layers.iter().all(Option::is_none)
    }

    /// The same for a network that ends with the last layer it changes.
    pub fn ending_with_its_last_layer(mut self) -> Self {
        let last = self.layers.iter().rposition(Option::is_some);
        self.layers.truncate(last.map_or(0, |last| last + 1));
        self
    }

    /// Reads the updates of a network of this config; layers without tensors are left as they are.
    pub fn read(weights: &Weights, config: &BertConfig) -> Result<Self, NnError> {
        let (d, hidden) = (config.dim(), config.config.intermediate_size);
        let names = config.config.model_type.names();
        let layer = |number: usize| {
            let scope = weights.scope("encoder.layer").at(number);
            if !scope.at(names.q).has("a") {
                return Ok(None);
            }
            let low_rank = |part: &str, inputs| LowRank::load(&scope.at(part), inputs, d);
            Ok(Some(LayerAdapter {
                qkv: [low_rank(names.q, d)?, low_rank(names.k, d)?, low_rank(names.v, d)?],
                out: low_rank(names.out, d)?,
                narrow: low_rank("output.dense", hidden)?,
            }))
        };
        let layers = (0..config.config.num_hidden_layers).map(layer);
        Ok(Self { layers: layers.collect::<Result<_, NnError>>()? })
    }
}

impl Bert {
    pub fn read(weights: &Weights, config: &BertConfig) -> Result<Self, NnError> {
        let BertConfig { config: sizes, max_tokens } = config;
        let all = weights.scope(&prefix(weights));
        let (d, embeddings, encoder) = (sizes.hidden_size, all.at("embeddings"), all.at("encoder"));
        let layer = |i: usize| Layer::load(&encoder.at("layer").at(i), sizes);
        let layers = (0..sizes.num_hidden_layers).map(layer);
        let relative = config.is_mpnet().then(|| relative_bias(&encoder, sizes, *max_tokens));
        Ok(Self {
            words: embeddings.tensor("word_embeddings.weight", &[sizes.vocab_size, d])?,
            positions: positions(&embeddings, sizes)?,
            norm: embeddings.layer_norm("LayerNorm", d, sizes.layer_norm_eps)?,
            relative: relative.transpose()?,
            layers: layers.collect::<Result<_, _>>()?,
            config: config.clone(),
        })
    }

    /// From the tokens of some texts to one row for each pooled range: \[ranges, d\]. The texts lie one
    /// after the other as N rows, so that nothing is spent on padding.
    pub fn forward<'a>(
        &self,
        texts: impl Iterator<Item = PooledText<'a>>,
        adapter: Option<&Adapter>,
    ) -> Result<Vec<f32>, NnError> {
        let d = self.config.dim();
        let (mut x, mut spans, mut pooled) = (Vec::new(), Vec::new(), Vec::new());
        for text in texts {
            let (first, length) = (x.len() / d, text.tokens.len().min(self.config.max_tokens));
            spans.push((first, length));
            pooled.extend(text.pooled.iter().map(|range| {
                let start = range.start.min(length - 1);
                (first + start, range.end.min(length).max(start + 1) - start)
            }));
            self.embed(&text.tokens[..length], &mut x)?;
        }
        self.norm.forward_in_place(&mut x); // [N, d]
        let heads = self.config.config.num_attention_heads;
        let attention = Attention { heads, spans: &spans, bias: self.relative.as_ref() };
        let depth = adapter.map_or(self.layers.len(), |adapter| adapter.layers.len());
        for (number, layer) in self.layers.iter().take(depth).enumerate() {
            let adapter = adapter.and_then(|adapter| adapter.layers[number].as_ref());
            layer.forward(&mut x, &attention, adapter, d);
        }
        Ok(mean(&x, d, &pooled))
    }

    fn embed(&self, tokens: &[u32], x: &mut Vec<f32>) -> Result<(), NnError> {
        let d = self.config.dim();
        let positions = self.positions.chunks_exact(d).skip(self.config.config.first_position());
        for (token, position) in tokens.iter().zip(positions) {
            let word = self.words.chunks_exact(d).nth(*token as usize);
            let word = word.ok_or(NnError::UnknownToken { token: *token })?;
            x.extend(word.iter().zip(position).map(|(a, b)| a + b));
        }
        Ok(())
    }
}

/// What stands before the names of all tensors, as in `roberta.embeddings…` or `0.auto_model.embeddings…`.
fn prefix(weights: &Weights) -> String {
    let before =
        |name: String| Some(name.strip_suffix("embeddings.word_embeddings.weight")?.into());
    let found: Option<String> = weights.names().into_iter().find_map(before);
    found.unwrap_or_default().trim_end_matches('.').to_owned()
}

/// The embedding of each position, with that of the one token type that sentences have: \[positions, d\].
fn positions(embeddings: &Scope<'_>, config: &Config) -> Result<Vec<f32>, NnError> {
    let d = config.hidden_size;
    let shape = [config.max_position_embeddings, d];
    let mut positions = embeddings.tensor("position_embeddings.weight", &shape)?;
    if config.model_type != Family::Mpnet {
        let types = "token_type_embeddings.weight";
        let types = embeddings.tensor(types, &[embeddings.rows(types)?.max(1), d])?;
        positions.chunks_exact_mut(d).for_each(|row| kernels::add(row, &types[..d]));
    }
    Ok(positions)
}

struct Layer {
    qkv: Linear, // [3·d, d]
    out: Linear, // [d, d]
    attention_norm: LayerNorm,
    wide: Linear,   // [4·d, d]
    narrow: Linear, // [d, 4·d]
    norm: LayerNorm,
}

impl Layer {
    fn load(scope: &Scope<'_>, config: &Config) -> Result<Self, NnError> {
        let (d, hidden, eps) =
            (config.hidden_size, config.intermediate_size, config.layer_norm_eps);
        let names = config.model_type.names();
        Ok(Self {
            qkv: scope.stacked(&[names.q, names.k, names.v], d)?,
            out: scope.linear(names.out, d, d)?,
            attention_norm: scope.layer_norm(names.attention_norm, d, eps)?,
            wide: scope.linear("intermediate.dense", hidden, d)?,
            narrow: scope.linear("output.dense", d, hidden)?,
            norm: scope.layer_norm("output.LayerNorm", d, eps)?,
        })
    }

    fn forward(
        &self,
        x: &mut [f32],
        attention: &Attention<'_>,
        adapter: Option<&LayerAdapter>,
        d: usize,
    ) {
        let mut qkv = self.qkv.forward(x, None); // [N, 3·d]
        if let Some(adapter) = adapter {
            for (part, low_rank) in adapter.qkv.iter().enumerate() {
                low_rank.add_to(&mut qkv[part * d..], 3 * d, x);
            }
        }
        let attended = attention.forward(&qkv, d); // [N, d]
        self.out.add_to(x, &attended);
        if let Some(adapter) = adapter {
            adapter.out.add_to(x, d, &attended);
        }
        self.attention_norm.forward_in_place(x);
        let hidden = self.wide.forward(x, Some(Activation::Gelu)); // [N, 4·d]
        self.narrow.add_to(x, &hidden);
        if let Some(adapter) = adapter {
            adapter.narrow.add_to(x, d, &hidden);
        }
        self.norm.forward_in_place(x);
    }
}

/// The learnt number per bucket of distances and head, spread out over all distances.
fn relative_bias(
    encoder: &Scope<'_>,
    config: &Config,
    max_length: usize,
) -> Result<RelativeBias, NnError> {
    let (buckets, heads) = (config.relative_attention_num_buckets, config.num_attention_heads);
    let learnt = encoder.tensor("relative_attention_bias.weight", &[buckets, heads])?;
    let reach = max_length as i64 - 1;
    let distances = (0..heads).flat_map(|head| (-reach..=reach).map(move |far| (head, far)));
    let table = distances.map(|(head, far)| learnt[bucket(far, buckets) * heads + head]).collect();
    Ok(RelativeBias { max_length, table })
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

/// The mean of some rows for each text: (first row, count). Not scaled to length 1.
fn mean(x: &[f32], d: usize, spans: &[(usize, usize)]) -> Vec<f32> {
    let mut means = vec![0.0; spans.len() * d];
    for (&(start, count), mean) in spans.iter().zip(means.chunks_exact_mut(d)) {
        let rows = x[start * d..(start + count) * d].chunks_exact(d);
        rows.for_each(|row| kernels::add(mean, row));
        mean.iter_mut().for_each(|x| *x /= count as f32);
    }
    means
}

#[cfg(test)]
mod tests {
    use safetensors::tensor::{Dtype, TensorView};

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

    /// A shape and its values.
    type Tensor = (Vec<usize>, Vec<f32>);
    type Tensors = std::collections::BTreeMap<String, Tensor>;

    fn config() -> BertConfig {
        let config = Config {
            model_type: Family::Mpnet,
            hidden_act: None,
            position_embedding_type: None,
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
        BertConfig { config, max_tokens: 24 }
    }

    /// A tensor of numbers between -0.5 and 0.5 that its name decides.
    fn tensor(name: &str, shape: &[usize]) -> Tensor {
        let mut state =
            name.bytes().fold(7u32, |state, byte| state * 31 % 65_521 + u32::from(byte));
        let number = |_| {
            state = state.wrapping_mul(1_664_525).wrapping_add(1_013_904_223);
            (state >> 8) as f32 / (1 << 24) as f32 - 0.5
        };
        (shape.to_vec(), (0..shape.iter().product()).map(number).collect())
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
        let bytes = |values: &Vec<f32>| values.iter().flat_map(|x| x.to_le_bytes()).collect();
        let all: Vec<Vec<u8>> = tensors.values().map(|(_, values)| bytes(values)).collect();
        let views = tensors.iter().zip(&all).map(|((name, (shape, _)), bytes)| {
            (name, TensorView::new(Dtype::F32, shape.clone(), bytes).unwrap())
        });
        Weights::from_bytes("tiny", &safetensors::serialize(views, None).unwrap()).unwrap()
    }

    /// The base with the update added to its weights.
    fn merged() -> Tensors {
        let (mut base, update) = (base(), update());
        for name in update.keys().filter_map(|name| name.strip_suffix(".a")) {
            let ((_, a), (_, b)) = (&update[&format!("{name}.a")], &update[&format!("{name}.b")]);
            let (shape, weight) = base.get_mut(&format!("{name}.weight")).unwrap(); // [out, in]
            for (i, w) in weight.iter_mut().enumerate() {
                let (output, input) = (i / shape[1], i % shape[1]);
                *w +=
                    (0..RANK).map(|r| a[input * RANK + r] * b[r * shape[0] + output]).sum::<f32>();
            }
        }
        base
    }

    fn rows(tensors: &Tensors, adapter: Option<&Adapter>, texts: &[PooledText<'_>]) -> Vec<f32> {
        let network = Bert::read(&weights(tensors), &config()).unwrap();
        network.forward(texts.iter().cloned(), adapter).unwrap()
    }

    fn distance(a: &[f32], b: &[f32]) -> f32 {
        a.iter().zip(b).map(|(a, b)| (a - b).abs()).fold(0.0, f32::max)
    }

    #[test]
    fn an_adapter_equals_the_network_with_the_update_merged() {
        let adapter = Adapter::read(&weights(&update()), &config()).unwrap();
        let texts = [&[0, 5, 9, 2][..], &[0, 7, 2]];
        let texts = texts.map(|tokens| PooledText::first(tokens, tokens.len()));
        let adapted = rows(&base(), Some(&adapter), &texts);
        assert!(distance(&adapted, &rows(&merged(), None, &texts)) < 1e-5);
        assert!(
            distance(&adapted, &rows(&base(), None, &texts)) > 0.01,
            "it must change something"
        );
    }

    #[test]
    fn a_network_may_end_with_the_last_layer_that_an_adapter_changes() {
        let of_first = |name: String| name.replace("layer.1", "layer.0");
        let update: Tensors = update().into_iter().map(|(n, t)| (of_first(n), t)).collect();
        let adapter = || Adapter::read(&weights(&update), &config()).unwrap();
        let tokens = [0, 5, 9, 2];
        let text = [PooledText::first(&tokens, 4)];
        let mut shallow = config();
        shallow.config.num_hidden_layers = 1;
        let network = Bert::read(&weights(&base()), &shallow).unwrap();
        let expected = network.forward(text.iter().cloned(), Some(&adapter())).unwrap();
        let ended = rows(&base(), Some(&adapter().ending_with_its_last_layer()), &text);
        assert_eq!(ended, expected);
        assert!(distance(&ended, &rows(&base(), Some(&adapter()), &text)) > 1e-3);
    }

    #[test]
    fn every_range_has_a_row() {
        let tokens = [0, 5, 9, 7, 2];
        let part = |range: Range<usize>| {
            rows(&base(), None, &[PooledText { tokens: &tokens, pooled: vec![range] }])
        };
        let both = PooledText { tokens: &tokens, pooled: vec![1..3, 3..4] };
        assert_eq!(rows(&base(), None, &[both]), [part(1..3), part(3..4)].concat());
        assert_eq!(part(3..99), part(3..5), "cut off at the end");
    }

    #[test]
    fn context_changes_a_step_without_being_averaged() {
        let step = [0, 5, 9, 2];
        let read = |context: &[u32], pooled| {
            let tokens = [&step[..], context].concat();
            rows(&base(), None, &[PooledText::first(&tokens, pooled)])
        };
        let alone = read(&[], 4);
        assert!(distance(&alone, &read(&[11, 12, 2], 4)) > 1e-3, "the context is attended to");
        assert!(distance(&read(&[11, 2], 4), &read(&[11, 2], 6)) > 1e-3, "but not averaged");
    }
}
