//! The videos of a library as a test set: procedures mixed from them, and whole videos.

use std::collections::HashMap;
use std::collections::hash_map::Entry;

use stitch_core::clip::{Span, VideoId};
use stitch_core::pool::{Pool, PoolError};
use stitch_engine::encoder::Encoder;
use stitch_engine::library::{Library, LibraryError};
use stitch_engine::progress::Progress;
use stitch_engine::sentence::{SentenceEncoder, SentenceError};
use stitch_engine::transcript::Sentence;

use super::plain::gather::said;
use super::test_set::TestSet;
use crate::collection::{Collection, CollectionError, Taken};
use crate::dataset::Example;

/// Why a library is no test set.
#[derive(Debug, thiserror::Error)]
pub enum LibrarySetError {
    /// The library and the procedures do not go together.
    #[error(transparent)]
    Collection(#[from] CollectionError),
    /// The library cannot be read.
    #[error(transparent)]
    Library(#[from] LibraryError),
    /// What is said cannot be encoded.
    #[error(transparent)]
    Sentence(#[from] SentenceError),
    /// Rows and clips do not belong together.
    #[error(transparent)]
    Pool(#[from] PoolError),
}

/// The library with these procedures; how many of them could not be used.
pub fn of_library(
    library: &Library,
    encoder: &dyn Encoder,
    sentence: &SentenceEncoder,
    examples: &[Example],
    progress: &dyn Progress,
) -> Result<(TestSet, Taken), LibrarySetError> {
    let (collection, taken) =
        Collection::of_library(library, encoder, sentence, examples, progress)?;
    let texts = narration(library, &collection.pool)?;
    progress.begin("encoding what is said", texts.len() as u64);
    let said = said(texts, sentence, progress)?;
    let set = TestSet::new("library", collection, said, encoder.id().clone())?;
    Ok((set, taken))
}

/// What is said in each clip.
fn narration(library: &Library, pool: &Pool) -> Result<Vec<String>, LibraryError> {
    let mut sentences: HashMap<VideoId, Vec<Sentence>> = HashMap::new();
    let mut texts = Vec::with_capacity(pool.len());
    for clip in pool.clips() {
        let spoken = match sentences.entry(clip.video) {
            Entry::Occupied(known) => known.into_mut(),
            Entry::Vacant(new) => new.insert(library.sentences(clip.video)?),
        };
        texts.push(within(spoken, clip.span));
    }
    Ok(texts)
}

fn within(sentences: &[Sentence], span: Span) -> String {
    let during = |sentence: &&Sentence| {
        Span::new(sentence.start_ms, sentence.end_ms).is_some_and(|spoken| spoken.overlaps(span))
    };
    let spoken = sentences.iter().filter(during).map(|sentence| sentence.text.trim());
    spoken.collect::<Vec<_>>().join(" ")
}
