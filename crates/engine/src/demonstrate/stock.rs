//! What queries read of a library, held in memory between them, and the query encoded once.

use std::collections::{BTreeMap, HashMap};
use std::sync::{Arc, Mutex, PoisonError};

use stitch_core::belief::Belief;
use stitch_core::clip::{ClipId, VideoId};
use stitch_core::features::Features;
use stitch_core::map::{Context, Match, StepMap, Steps, map};
use stitch_core::pool::Pool;
use stitch_core::procedure::Procedure;

use super::copies;
use super::parts::{self, Actions};
use super::{DemonstrateError, Demonstrator, Place, SourceFilter};
use crate::calibration::Calibration;
use crate::encoder::{Encoder, EncoderError};
use crate::library::{Library, LibraryError, VideoRecord, VideoStatus};
use crate::scorer::Query;
use crate::sentence::{SentenceEncoder, SentenceError};
use crate::understand::{InContext, Translated, in_context, translate};

/// The texts of a step's best clips that the cross-encoder reads.
const TEXTS_READ_TOGETHER: usize = 3;

/// P and the videos it is from.
pub struct Stock {
    /// Every clip with its features.
    pub pool: Pool,
    /// The videos that are ready, by number.
    pub videos: BTreeMap<VideoId, VideoRecord>,
    /// Fitted on labels of this library.
    fitted: Option<Calibration>,
    /// Features of the seconds of videos that were asked for; none where there are none.
    seconds: Mutex<HashMap<VideoId, Option<Arc<Features>>>>,
}

impl Stock {
    /// Reads it from the library.
    pub fn load(library: &Library) -> Result<Self, LibraryError> {
        let pool = library.pool()?;
        let ready = library.videos()?.into_iter().filter(|v| v.status == VideoStatus::Ready);
        let fitted = library.calibration().unwrap_or_else(|error| {
            tracing::warn!(%error, "calibration");
            None
        });
        let videos = ready.map(|video| (VideoId(video.id), video)).collect();
        Ok(Self { pool, videos, fitted, seconds: Mutex::default() })
    }

    /// The videos that may be used; an error if that is none.
    pub(super) fn usable(
        &self,
        sources: &SourceFilter,
    ) -> Result<BTreeMap<VideoId, &VideoRecord>, DemonstrateError> {
        let usable: BTreeMap<_, _> = self
            .videos
            .iter()
            .filter(|(_, video)| sources.allows(video))
            .map(|(id, video)| (*id, video))
            .collect();
        if usable.is_empty() { Err(DemonstrateError::NoSource) } else { Ok(usable) }
    }

    /// What F_M makes of each second of a video; read once.
    pub(super) fn seconds(&self, library: &Library, video: VideoId) -> Option<Arc<Features>> {
        let mut known = self.seconds.lock().unwrap_or_else(PoisonError::into_inner);
        known.entry(video).or_insert_with(|| library.seconds(video).ok().map(Arc::new)).clone()
    }

    /// What this encoder's cosines are worth here.
    pub(super) fn calibration(&self, encoder: &dyn Encoder) -> Calibration {
        self.weights(encoder).in_library(self.pool.agreement())
    }

    /// The weights in use for this encoder: those fitted on the library, else the built-in ones.
    pub fn weights(&self, encoder: &dyn Encoder) -> &Calibration {
        self.fitted.as_ref().unwrap_or_else(|| Calibration::of(&encoder.id().name))
    }

    /// The row of a clip, if it is still there.
    pub fn find(&self, place: Place) -> Option<ClipId> {
        place.clips(&self.pool).next()
    }

    /// The clips that are most likely to show something, best first, the same footage once.
    pub fn search(
        &self,
        library: &Library,
        text: &str,
        number: usize,
        encoder: &dyn Encoder,
        sentence: &SentenceEncoder,
    ) -> Result<Vec<Match>, DemonstrateError> {
        let texts = [text.to_owned()];
        let features = sentence.encode(&texts).map_err(EncoderError::from)?;
        let clip = encoder.encode_text(&[text])?;
        let steps = Steps { texts: &texts, text: &features, clip: &clip, context: None };
        let calibration = self.calibration(encoder);
        let top = number.saturating_mul(2); // copies make place for others
        let found = map(&steps, &self.pool, |_, _| true, &calibration.belief(), top)?;
        let (found, _) = copies::collapse(found, &self.pool, library);
        let mut found = found.steps.into_iter().next().unwrap_or_default();
        found.truncate(number);
        Ok(found)
    }
}

/// A procedure as both encoders see it: what a query spends most of its time on, and what does not
/// change when a person changes their mind about a clip.
#[derive(Clone, Debug)]
pub struct Asked {
    /// R, as it was written.
    pub procedure: Procedure,
    /// What is encoded instead where the models do not know the language.
    translation: Option<Procedure>,
    /// What each step asks for, where its own words do not say it.
    pub(super) understood: Vec<Option<String>>,
    /// What is wrong with the language, if anything.
    pub(super) language_note: Option<String>,
    text: Features,
    clip: Features,
    context: Option<Features>,
    context_clip: Option<Features>,
    pub(super) actions: Actions,
}

impl Asked {
    /// Encodes the steps, translated where that is needed and possible, and the actions of those that have
    /// several.
    pub fn encode(
        with: &Demonstrator<'_>,
        procedure: &Procedure,
    ) -> Result<Self, DemonstrateError> {
        let Translated { translation, note } = translate(procedure, with.sentence, with.chat);
        let words = translation.as_ref().unwrap_or(procedure);
        let actions = parts::actions(words);
        let steps = words.steps();
        let texts = steps.iter().chain(actions.iter().map(|(_, action)| action));
        let texts: Vec<&str> = texts.map(String::as_str).collect();
        let text = with.sentence.encode(&texts).map_err(EncoderError::from)?;
        let (text, action_text) = text.split_at(steps.len());
        let (clip, action_clip) = with.encoder.encode_text(&texts)?.split_at(steps.len());
        let actions = Actions::new(actions, action_text, action_clip);
        let chat = with.chat.filter(|_| translation.is_none());
        let understood = in_context(words, &text, with.sentence, chat);
        let InContext { steps, features: context } = understood.map_err(EncoderError::from)?;
        let project = |context: &Features| with.encoder.project_sentences(context);
        let context_clip = context.as_ref().map(project).transpose()?.flatten();
        Ok(Self {
            procedure: procedure.clone(),
            understood: match &translation {
                Some(words) => words.steps().iter().cloned().map(Some).collect(),
                None => steps,
            },
            translation,
            language_note: note,
            text,
            clip,
            context,
            context_clip,
            actions,
        })
    }

    /// The steps in the words that are encoded.
    fn texts(&self) -> &[String] {
        self.translation.as_ref().unwrap_or(&self.procedure).steps()
    }

    /// The same as M takes it.
    pub fn steps(&self) -> Steps<'_> {
        let context = |text| Context { text, clip: self.context_clip.as_ref() };
        Steps {
            texts: self.texts(),
            text: &self.text,
            clip: &self.clip,
            context: self.context.as_ref().map(context),
        }
    }

    /// The procedure in the language of the models.
    fn words(&self) -> &Procedure {
        self.translation.as_ref().unwrap_or(&self.procedure)
    }

    /// Adds what the cross-encoder says of each step's best clips to M.
    pub(super) fn read_together(
        &self,
        map: &mut StepMap,
        sentence: &SentenceEncoder,
        pool: &Pool,
        belief: &Belief,
    ) -> Result<(), DemonstrateError> {
        let words = self.words();
        add_read(map, pool, belief, |pairs| {
            sentence.read_together(words.title(), words.steps(), pairs)
        })
    }

    /// The same to M for the actions of compound steps, each read in the place of its step.
    pub(super) fn read_actions(
        &self,
        map: &mut StepMap,
        sentence: &SentenceEncoder,
        pool: &Pool,
        belief: &Belief,
    ) -> Result<(), DemonstrateError> {
        let words = self.words();
        let read = |of_action: &[(usize, &str)]| {
            let (step, actions) = self.actions.until(of_action[0].0);
            let steps: Vec<&String> = words.steps()[..step].iter().chain(actions).collect();
            let pairs: Vec<(usize, &str)> =
                of_action.iter().map(|(_, text)| (steps.len() - 1, *text)).collect();
            sentence.read_together(words.title(), &steps, &pairs)
        };
        add_read(map, pool, belief, |pairs| {
            let said = pairs.chunk_by(|(a, _), (b, _)| a == b).map(read);
            let said: Vec<Option<Vec<f32>>> = said.collect::<Result<_, _>>()?;
            Ok(said.into_iter().collect::<Option<Vec<_>>>().map(|said| said.concat()))
        })
    }

    /// The same as scorers and maps take it.
    pub fn query(&self) -> Query<'_> {
        Query { texts: self.texts(), text: &self.text, clip: &self.clip, search: None }
    }
}

/// Adds what the cross-encoder says of the best clips to a map.
fn add_read(
    map: &mut StepMap,
    pool: &Pool,
    belief: &Belief,
    read: impl FnOnce(&[(usize, &str)]) -> Result<Option<Vec<f32>>, SentenceError>,
) -> Result<(), DemonstrateError> {
    let pairs = map.best_texts(pool, TEXTS_READ_TOGETHER);
    if let Some(said) = read(&pairs).map_err(EncoderError::from)? {
        map.add_cross(&pairs.into_iter().zip(said).collect(), pool, belief);
    }
    Ok(())
}

#[cfg(test)]
mod tests {
    use std::collections::BTreeSet;

    use stitch_core::clip::{Clip, Span};

    use super::super::{Options, mapped};
    use super::*;
    use crate::encoder::narration::Narration;
    use crate::scorer::AverageSimilarity;
    use crate::sentence::tests::with_cross_encoder;

    #[test]
    fn the_best_texts_of_a_step_are_read_with_it() {
        let texts = ["chop it", "chop the onion", "fry it", "water the pot", "chop it"];
        let sentence = Arc::new(with_cross_encoder());
        let encoder = Narration::new(sentence.clone(), "ab".repeat(32));
        let folder = tempfile::tempdir().unwrap();
        let library = Library::open_or_create(folder.path(), encoder.id()).unwrap();
        let clip = |(i, text): (usize, &&str)| Clip {
            video: VideoId(i as u32),
            span: Span::new(0, 1000).unwrap(),
            text: (*text).into(),
        };
        let rows = sentence.encode(&texts).unwrap();
        let clips = texts.iter().enumerate().map(clip).collect();
        let pool = Pool::new(clips, rows.clone(), rows).unwrap();
        let (videos, seconds) = (BTreeMap::new(), Mutex::default());
        let stock = Stock { pool, videos, fitted: None, seconds };
        let with = Demonstrator {
            library: &library,
            encoder: &encoder,
            sentence: &sentence,
            sentence_weights: "",
            scorer: &AverageSimilarity,
            chat: None,
        };
        let procedure = Procedure::new("Soup", ["chop the onion"]).unwrap();
        let asked = Asked::encode(&with, &procedure).unwrap();
        let map = mapped(&with, &stock, &asked, &Options::default(), |_| true).unwrap();
        let all = &map.all.steps[0];
        let text = |found: &Match| texts[found.clip.row()];
        let (read, unread): (Vec<&Match>, Vec<&Match>) =
            all.iter().partition(|found| found.evidence.cross.is_some());
        let texts_read: BTreeSet<&str> = read.iter().map(|found| text(found)).collect();
        assert_eq!(texts_read.len(), TEXTS_READ_TOGETHER);
        assert!(unread.len() == 5 - read.len() && !texts_read.contains(text(unread[0])));
    }
}
