//! Sentences to vectors: all-mpnet-base-v2, or another model of the BERT family with mean pooling.

use std::collections::HashMap;
use std::path::{Path, PathBuf};
use std::sync::{Arc, Mutex, MutexGuard, OnceLock, PoisonError};

use rayon::prelude::*;
use stitch_core::features::{Features, FeaturesError};
use stitch_nn::bert::{Adapter, Bert, BertConfig, PooledText};
use stitch_nn::tokenizer;
use tokenizers::Tokenizer;

use crate::cross_encoder::{self, CrossEncoder};
use crate::models::{NnError, Weights};
use crate::progress::{Progress, Silent, Stopped};
use crate::reader::Reader;
use crate::recipe::{Label, Labeller};

/// The most tokens in one pass: enough to feed the matrix products, few enough to stay in cache.
const BATCH_TOKENS: usize = 512;

/// How many vectors are remembered: a procedure's steps are asked for again and again, by the query,
/// by encoders that build on this one and by measurements.
const REMEMBERED: usize = 4096;

#[derive(Debug, thiserror::Error)]
pub enum SentenceError {
    #[error(transparent)]
    Weights(#[from] NnError),
    #[error("the sentence model made unusable numbers: {0}")]
    Features(#[from] FeaturesError),
    #[error(transparent)]
    Stopped(#[from] Stopped),
}

/// The sentence model with its tokenizer.
pub struct SentenceEncoder {
    folder: PathBuf,
    tokenizer: Tokenizer,
    config: BertConfig,
    /// Read when the first text comes: videos in which nothing is said may need none.
    network: Mutex<Option<Arc<Bert>>>,
    remembered: Mutex<HashMap<String, Vec<f32>>>,
    /// None where the adapter was trained for a model of another size or family.
    adapter: OnceLock<Option<Adapter>>,
    /// The same for reading texts.
    reader: OnceLock<Option<Reader>>,
    /// The same for reading a step and a clip's text together.
    cross_encoder: OnceLock<Option<CrossEncoder>>,
    /// What it said, by tokens.
    pairs: Mutex<HashMap<Vec<u32>, f32>>,
}

/// The low-rank update with which the model reads a step in its procedure, trained by
/// `recipes/context`.
const CONTEXT_ADAPTER: &[u8] = include_bytes!("../../../models/context/adapter.safetensors");

/// The most tokens of a step, and of the step with its context; those of training.
const STEP_TOKENS: usize = 64;
const CONTEXT_TOKENS: usize = 128;

impl SentenceEncoder {
    /// The model's name in the store.
    pub const MODEL: &str = "all-mpnet-base-v2";

    /// Opens the model in a folder. What is wrong with its tensors is said when they are read.
    pub fn load(folder: &Path) -> Result<Self, SentenceError> {
        let config = BertConfig::read(folder)?;
        Weights::open(folder)?;
        Ok(Self {
            tokenizer: tokenizer::load(&folder.join(TOKENIZER), config.max_tokens)?,
            folder: folder.to_owned(),
            config,
            network: Mutex::default(),
            remembered: Mutex::default(),
            adapter: OnceLock::new(),
            reader: OnceLock::new(),
            cross_encoder: OnceLock::new(),
            pairs: Mutex::default(),
        })
    }

    /// The name of its folder.
    pub fn name(&self) -> std::borrow::Cow<'_, str> {
        self.folder.file_name().unwrap_or_default().to_string_lossy()
    }

    /// The length of a vector.
    pub fn dim(&self) -> usize {
        self.config.dim()
    }

    /// Of the family that the shipped adapters and `mini` were trained on.
    pub fn is_mpnet(&self) -> bool {
        self.config.is_mpnet()
    }

    /// Whether it knows other languages than English.
    pub fn is_multilingual(&self) -> bool {
        self.config.is_multilingual()
    }

    fn network(&self) -> Result<Arc<Bert>, SentenceError> {
        let mut network = lock(&self.network);
        if let Some(network) = &*network {
            return Ok(network.clone());
        }
        let read = Arc::new(Bert::read(&Weights::open(&self.folder)?, &self.config)?);
        Ok(network.insert(read).clone())
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
        let remembered = lock(&self.remembered);
        let mut rows: Vec<_> = distinct.iter().map(|text| remembered.get(*text).cloned()).collect();
        drop(remembered);
        let new: Vec<usize> = (0..rows.len()).filter(|text| rows[*text].is_none()).collect();
        progress.advance((distinct.len() - new.len()) as u64);
        let vectors =
            self.encode_new(new.iter().map(|text| distinct[*text]).collect(), progress)?;
        let mut remembered = lock(&self.remembered);
        for (text, vector) in new.into_iter().zip(vectors.chunks_exact(self.dim())) {
            if remembered.len() >= REMEMBERED {
                remembered.clear();
            }
            remembered.insert(distinct[text].to_owned(), vector.to_vec());
            rows[text] = Some(vector.to_vec());
        }
        let data = places.iter().flat_map(|&text| rows[text].iter().flatten());
        Ok(Features::new(self.dim(), data.copied().collect())?)
    }

    /// Forgets every vector, so that the next time can be measured.
    pub fn forget(&self) {
        lock(&self.remembered).clear();
        lock(&self.pairs).clear();
    }

    /// One vector of length 1 per step, each understood in its procedure: read with the title and the
    /// steps before it, it lies near plain wordings of what is done to what. None where the model has
    /// other sizes than the one that the adapter was trained for.
    pub fn encode_in_context(
        &self,
        title: &str,
        steps: &[impl AsRef<str>],
    ) -> Result<Option<Features>, SentenceError> {
        let adapter = self.adapter.get_or_init(|| read_adapter(CONTEXT_ADAPTER, &self.config));
        let Some(adapter) = adapter else { return Ok(None) };
        let title = (!title.is_empty()).then_some(title);
        let texts: Vec<&str> = title.into_iter().chain(steps.iter().map(AsRef::as_ref)).collect();
        let marked = self.tokenise(texts)?;
        let (title, steps) = marked.split_at(usize::from(title.is_some()));
        let network = self.network()?;
        let encode = |step: usize| {
            let (tokens, pooled) = in_context(title.first(), &steps[..=step]);
            let input = PooledText::first(&tokens, pooled);
            Ok(network.forward(std::iter::once(input), Some(adapter))?)
        };
        let rows: Result<Vec<Vec<f32>>, SentenceError> =
            (0..steps.len()).into_par_iter().map(encode).collect();
        Ok(Some(Features::new(self.dim(), rows?.concat())?))
    }

    /// One vector of length 1 per text of a video, halfway between its own words and what they mean after the
    /// title and the texts before it: people say "now put it in the oven" on camera too.
    pub fn encode_narration(
        &self,
        title: &str,
        texts: &[impl AsRef<str>],
    ) -> Result<Features, SentenceError> {
        let own = self.encode(texts)?;
        let Some(context) = self.encode_in_context(title, texts)? else { return Ok(own) };
        let sums =
            own.as_slice().iter().zip(context.as_slice()).map(|(own, context)| own + context);
        Ok(Features::new(self.dim(), sums.collect())?)
    }

    /// The log-odds that the text of a clip is what a step asks for, for pairs of a step's number and a text. None where
    /// the model has other sizes than the one that was trained.
    pub fn read_together(
        &self,
        title: &str,
        steps: &[impl AsRef<str>],
        pairs: &[(usize, &str)],
    ) -> Result<Option<Vec<f32>>, SentenceError> {
        let network = self.cross_encoder.get_or_init(|| CrossEncoder::load(&self.config));
        let Some(cross_encoder) = network else { return Ok(None) };
        let marked =
            self.tokenise(std::iter::once(title).chain(steps.iter().map(AsRef::as_ref)).collect())?;
        let clips = self.tokenise(pairs.iter().map(|(_, text)| *text).collect())?;
        let title = (!title.is_empty()).then_some(&marked[0]);
        let network = self.network()?;
        let read = |(clip, (step, _)): (&Vec<u32>, &(usize, &str))| {
            let (step, own) = in_context(title, &marked[1..=step + 1]);
            let (tokens, pooled) = cross_encoder::tokens(clip, (&step, own));
            if let Some(known) = lock(&self.pairs).get(&tokens) {
                return Ok(*known);
            }
            let log_odds = cross_encoder.log_odds(&network, (&tokens, pooled))?;
            let mut known = lock(&self.pairs);
            if known.len() >= REMEMBERED {
                known.clear();
            }
            known.insert(tokens, log_odds);
            Ok(log_odds)
        };
        let all: Result<Vec<f32>, SentenceError> = clips.par_iter().zip(pairs).map(read).collect();
        Ok(Some(all?))
    }

    /// What each sentence of a text is; none where the text is too long or the model has other sizes
    /// than the one that was trained.
    fn label(&self, lines: &[Vec<&str>]) -> Result<Option<Vec<Vec<Label>>>, SentenceError> {
        let reader = self.reader.get_or_init(|| Reader::load(&self.config));
        let Some(reader) = reader else { return Ok(None) };
        let mut tokens = self.tokenise(lines.concat())?.into_iter();
        let lines = lines.iter().map(|line| tokens.by_ref().take(line.len()).collect());
        Ok(reader.label(&*self.network()?, &lines.collect::<Vec<_>>())?)
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
        let encode = |batch: &Vec<usize>| {
            progress.check()?;
            let whole = |text: &usize| PooledText::first(&tokens[*text], tokens[*text].len());
            let rows = network.forward(batch.iter().map(whole), None)?;
            progress.advance(batch.len() as u64);
            Ok(rows)
        };
        let done: Result<Vec<Vec<f32>>, SentenceError> = batches.par_iter().map(encode).collect();
        // from the order of the batches to that of the texts
        let dim = self.dim();
        let mut rows = vec![0.0; tokens.len() * dim];
        for (batch, vectors) in batches.iter().zip(done?) {
            for (&text, vector) in batch.iter().zip(vectors.chunks_exact(dim)) {
                rows[text * dim..][..dim].copy_from_slice(vector);
            }
        }
        Ok(rows)
    }

    fn tokenise(&self, texts: Vec<&str>) -> Result<Vec<Vec<u32>>, SentenceError> {
        Ok(tokenizer::encode(&self.tokenizer, &self.folder.join(TOKENIZER), texts)?)
    }
}

/// Where the model cannot read a text, rules do.
impl Labeller for SentenceEncoder {
    fn label(&self, lines: &[Vec<&str>]) -> Option<Vec<Vec<Label>>> {
        let labels = self.label(lines);
        if let Err(error) = &labels {
            tracing::warn!(%error, "the text is read by rules");
        }
        labels.ok().flatten()
    }
}

const TOKENIZER: &str = "tokenizer.json";

fn lock<T>(mutex: &Mutex<T>) -> MutexGuard<'_, T> {
    mutex.lock().unwrap_or_else(PoisonError::into_inner)
}

/// The adapter for a model of this config; none if it was trained for another.
fn read_adapter(bytes: &[u8], config: &BertConfig) -> Option<Adapter> {
    let weights = Weights::from_bytes("context/adapter.safetensors", bytes).ok()?;
    Adapter::read(&weights, config).ok().filter(|adapter| !adapter.is_empty())
}

/// The tokens of the last step followed by the title and the steps before it, nearest first, and how
/// many of them are the step's own. Every text ends with the end mark and begins with the start mark,
/// which only the first keeps.
fn in_context(title: Option<&Vec<u32>>, steps: &[Vec<u32>]) -> (Vec<u32>, usize) {
    let Some((step, before)) = steps.split_last() else { return (Vec::new(), 0) };
    let mut tokens = step.clone();
    if tokens.len() > STEP_TOKENS {
        let end = tokens[tokens.len() - 1];
        tokens.truncate(STEP_TOKENS - 1);
        tokens.push(end);
    }
    let pooled = tokens.len();
    for text in title.into_iter().chain(before.iter().rev()) {
        tokens.extend(&text[1.min(text.len())..]);
    }
    tokens.truncate(CONTEXT_TOKENS);
    (tokens, pooled)
}

/// The different texts, and for each text its number among them.
fn distinct(texts: &[impl AsRef<str>]) -> (Vec<&str>, Vec<usize>) {
    let mut numbers = HashMap::new();
    let mut distinct = Vec::new();
    let number = |text| {
        *numbers.entry(text).or_insert_with(|| {
            distinct.push(text);
            distinct.len() - 1
        })
    };
    let places = texts.iter().map(AsRef::as_ref).map(number).collect();
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

#[cfg(test)]
pub mod tests {
    use stitch_core::features::similarity;

    use super::*;

    #[test]
    fn identical_texts_are_encoded_once_and_keep_their_places() {
        let (texts, places) = distinct(&["b", "a", "b", ""]);
        assert_eq!(texts, ["b", "a", ""]);
        assert_eq!(places, [0, 1, 0, 2]);
    }

    #[test]
    fn a_step_is_followed_by_title_and_earlier_steps_nearest_first() {
        let text = |words: &[u32]| [&[0], words, &[2]].concat();
        let steps = [text(&[10]), text(&[11, 12]), text(&[13])];
        let (tokens, pooled) = in_context(Some(&text(&[9])), &steps);
        assert_eq!((tokens, pooled), (vec![0, 13, 2, 9, 2, 11, 12, 2, 10, 2], 3));
        let long: Vec<u32> = (100..300).collect();
        let (tokens, pooled) = in_context(None, &[text(&long), text(&long)]);
        assert_eq!((tokens.len(), pooled), (CONTEXT_TOKENS, STEP_TOKENS));
        assert_eq!((tokens[STEP_TOKENS - 1], tokens[STEP_TOKENS]), (2, 100));
    }

    #[derive(serde::Deserialize)]
    struct Golden {
        title: String,
        steps: Vec<String>,
        rows: Vec<Vec<f32>>,
    }

    fn tiny() -> PathBuf {
        Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/data/tiny-mpnet")
    }

    /// The golden rows are made by recipes/golden/context.py.
    #[test]
    fn steps_in_context_are_read_with_the_adapter() {
        let adapter = std::fs::read(tiny().join("adapter.safetensors")).unwrap();
        let golden = std::fs::read(tiny().join("context.json")).unwrap();
        let golden: Vec<Golden> = serde_json::from_slice(&golden).unwrap();
        let encoder = SentenceEncoder::load(&tiny()).unwrap();
        let adapter = read_adapter(&adapter, &encoder.config);
        assert!(adapter.is_some() && encoder.adapter.set(adapter).is_ok());
        for Golden { title, steps, rows } in golden {
            let found = encoder.encode_in_context(&title, &steps).unwrap().unwrap();
            assert_eq!(found.len(), rows.len());
            for (ours, theirs) in found.as_slice().iter().zip(rows.iter().flatten()) {
                assert!((ours - theirs).abs() < 2e-6, "{title}: {ours} {theirs}");
            }
            let (own, told) = (encoder.encode(&steps), encoder.encode_narration(&title, &steps));
            let (own, told) = (own.unwrap(), told.unwrap());
            for ((own, context), told) in own.rows().zip(found.rows()).zip(told.rows()) {
                let [to_own, to_context] = [similarity(told, own), similarity(told, context)];
                assert!((to_own - to_context).abs() < 1e-5, "halfway: {to_own} {to_context}");
                assert!(to_own >= similarity(own, context));
            }
        }
    }

    /// The small random model with a cross-encoder of its size.
    pub fn with_cross_encoder() -> SentenceEncoder {
        let mut encoder = SentenceEncoder::load(&tiny()).unwrap();
        encoder.cross_encoder = Some(cross_encoder::tests::tiny(&encoder.config)).into();
        encoder
    }

    #[test]
    fn a_clip_is_read_together_with_the_step_in_its_procedure() {
        let encoder = SentenceEncoder::load(&tiny()).unwrap();
        assert_eq!(encoder.read_together("", &["chop"], &[(0, "chop")]).unwrap(), None);
        let encoder = with_cross_encoder();
        let steps = ["chop the onion", "fry it"];
        let said = |title: &str, pairs: &[(usize, &str)]| {
            encoder.read_together(title, &steps, pairs).unwrap().unwrap()
        };
        let all =
            said("Tacos", &[(1, "fry the onion"), (1, "water the pot"), (0, "fry the onion")]);
        assert_eq!(all.len(), 3);
        assert!(all[0] != all[1] && all[0] != all[2], "{all:?}");
        assert_eq!(said("Tacos", &[(1, "water the pot")]), all[1..2], "remembered");
        assert_ne!(said("", &[(1, "water the pot")]), all[1..2], "without the title");
        // By hand: the clip, then the step, the title and the step before.
        let texts = ["fry the onion", "fry it", "Tacos", "chop the onion"];
        let tokens = encoder.tokenise(texts.to_vec()).unwrap();
        let joined: Vec<u32> = tokens[0]
            .iter()
            .chain(tokens[1..].iter().flat_map(|text| &text[1..]))
            .copied()
            .collect();
        let own = tokens[0].len() + tokens[1].len() - 1;
        let network = encoder.network().unwrap();
        let expected =
            cross_encoder::tests::tiny(&encoder.config).log_odds(&network, (&joined, own));
        assert!((expected.unwrap() - all[0]).abs() < 1e-6);
    }

    #[test]
    fn the_shipped_adapters_are_for_the_sizes_and_family_of_all_mpnet() {
        let folder = tempfile::tempdir().unwrap();
        let mut config = std::fs::read_to_string(tiny().join("config.json")).unwrap();
        let limits = folder.path().join("sentence_bert_config.json");
        std::fs::write(limits, r#"{"max_seq_length": 384}"#).unwrap();
        for (name, tiny, real) in [
            ("hidden_size", 32, 768),
            ("intermediate_size", 64, 3072),
            ("num_hidden_layers", 2, 12),
            ("num_attention_heads", 4, 12),
            ("max_position_embeddings", 200, 514),
        ] {
            let (from, to) = (format!("\"{name}\": {tiny}"), format!("\"{name}\": {real}"));
            assert!(config.contains(&from), "{from}");
            config = config.replace(&from, &to);
        }
        let multilingual = config.replacen('{', r#"{"model_type": "xlm-roberta","#, 1);
        for (config, is_trained) in [(config, true), (multilingual, false)] {
            std::fs::write(folder.path().join("config.json"), config).unwrap();
            let config = BertConfig::read(folder.path()).unwrap();
            assert_eq!(read_adapter(CONTEXT_ADAPTER, &config).is_some(), is_trained);
            assert_eq!(Reader::load(&config).is_some(), is_trained);
            assert_eq!(CrossEncoder::load(&config).is_some(), is_trained);
        }
        let encoder = SentenceEncoder::load(&tiny()).unwrap();
        assert!(encoder.encode_in_context("", &["chop"]).unwrap().is_none(), "of other sizes");
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
}
