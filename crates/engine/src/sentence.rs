//! Sentences to vectors: all-mpnet-base-v2 (MPNet, mean pooling) from safetensors.

use std::collections::HashMap;
use std::path::{Path, PathBuf};
use std::sync::{Arc, Mutex, OnceLock, PoisonError};

use rayon::prelude::*;
use stitch_core::features::{Features, FeaturesError};
use stitch_nn::mpnet::{Adapter, Mpnet, MpnetConfig, PooledText};
use stitch_nn::tokenizer;
use tokenizers::Tokenizer;

use crate::models::{NnError, Weights};
use crate::progress::{Progress, Silent, Stopped};
use crate::reader::Reader;
use crate::recipe::{Label, Labeller};

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
    Weights(#[from] NnError),
    /// The model made numbers that are none.
    #[error("the sentence model made unusable numbers: {0}")]
    Features(#[from] FeaturesError),
    /// The work was asked to stop.
    #[error(transparent)]
    Stopped(#[from] Stopped),
}

/// The sentence model with its tokenizer.
pub struct SentenceEncoder {
    tokenizer: Tokenizer,
    tokenizer_path: PathBuf,
    config: MpnetConfig,
    network: Mutex<Network>,
    remembered: Mutex<HashMap<String, Vec<f32>>>,
    /// None where the adapter was trained for a model of another size.
    adapter: OnceLock<Option<Adapter>>,
    /// The same for reading texts.
    reader: OnceLock<Option<Reader>>,
}

/// The low-rank update with which the model reads a step in its procedure, trained by
/// `recipes/context`.
const CONTEXT_ADAPTER: &[u8] = include_bytes!("../../../models/context/adapter.safetensors");

/// The most tokens of a step, and of the step with its context; those of training.
const STEP_TOKENS: usize = 64;
const CONTEXT_TOKENS: usize = 128;

/// The network, read when the first text comes: videos in which nothing is said may need none.
enum Network {
    Unread(Weights),
    Read(Arc<Mpnet>),
}

impl SentenceEncoder {
    /// The model's name in the store.
    pub const MODEL: &str = "all-mpnet-base-v2";

    /// Opens the model in a folder. What is wrong with its tensors is said when they are read.
    pub fn load(folder: &Path) -> Result<Self, SentenceError> {
        let config = MpnetConfig::read(folder)?;
        let network = Mutex::new(Network::Unread(Weights::open(folder)?));
        let tokenizer_path = folder.join("tokenizer.json");
        let tokenizer = tokenizer::load(&tokenizer_path, config.max_tokens)?;
        Ok(Self {
            tokenizer,
            tokenizer_path,
            config,
            network,
            remembered: Mutex::default(),
            adapter: OnceLock::new(),
            reader: OnceLock::new(),
        })
    }

    /// The length of a vector.
    pub fn dim(&self) -> usize {
        self.config.dim()
    }

    fn network(&self) -> Result<Arc<Mpnet>, SentenceError> {
        let mut network = self.network.lock().unwrap_or_else(PoisonError::into_inner);
        let read = match &*network {
            Network::Read(read) => return Ok(read.clone()),
            Network::Unread(weights) => Arc::new(Mpnet::read(weights, &self.config)?),
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

    /// One vector of length 1 per step, each understood in its procedure: read with the title and the
    /// steps before it, it lies near plain wordings of what is done to what. None where the model has
    /// other sizes than the one that the adapter was trained for.
    pub fn encode_in_context(
        &self,
        title: &str,
        steps: &[impl AsRef<str>],
    ) -> Result<Option<Features>, SentenceError> {
        let read = || {
            let weights =
                Weights::from_bytes("context/adapter.safetensors", CONTEXT_ADAPTER).ok()?;
            Adapter::read(&weights, &self.config).ok().filter(|adapter| !adapter.is_empty())
        };
        let Some(adapter) = self.adapter.get_or_init(read) else { return Ok(None) };
        let title = (!title.is_empty()).then_some(title);
        let texts: Vec<&str> = title.into_iter().chain(steps.iter().map(AsRef::as_ref)).collect();
        let marked = self.tokenise(texts)?;
        let (title, steps) = marked.split_at(usize::from(title.is_some()));
        let read: Vec<(Vec<u32>, usize)> =
            (0..steps.len()).map(|step| in_context(title.first(), &steps[..=step])).collect();
        let network = self.network()?;
        let rows: Result<Vec<Vec<f32>>, SentenceError> = read
            .par_iter()
            .map(|(tokens, pooled)| {
                let input = PooledText::first(tokens, *pooled);
                Ok(network.forward(std::iter::once(input), Some(adapter))?)
            })
            .collect();
        Ok(Some(Features::new(self.dim(), rows?.concat())?))
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
        let done: Result<Vec<Vec<f32>>, SentenceError> = batches
            .par_iter()
            .map(|batch| {
                progress.check()?;
                let whole = |text: &usize| PooledText::first(&tokens[*text], tokens[*text].len());
                let rows = network.forward(batch.iter().map(whole), None)?;
                progress.advance(batch.len() as u64);
                Ok(rows)
            })
            .collect();
        Ok(scatter(&batches, &done?, tokens.len(), self.dim()))
    }

    fn tokenise(&self, texts: Vec<&str>) -> Result<Vec<Vec<u32>>, SentenceError> {
        Ok(tokenizer::encode(&self.tokenizer, &self.tokenizer_path, texts)?)
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
