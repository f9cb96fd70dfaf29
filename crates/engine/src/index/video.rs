//! Indexing one video: probe, narration, steps, features, clips.

use stitch_core::clip::{Clip, VideoId};
use stitch_core::features::Features;
use stitch_core::pool::Agreement;

use super::metadata::{hint, read_metadata};
use super::spans::{self, Context, StepSpan};
use super::steps::{Steps, VideoStep, confirmed};
use super::video_list::ListedVideo;
use super::{IndexError, Indexer, Result, corrections};
use crate::encoder::{EncoderError, Seconds, VideoInput};
use crate::files::read_side_file;
use crate::library::{Indexed, Outcome, Video, VideoFeatures, VideoRecord};
use crate::listen::{ListenError, Listener, UncertainWord};
use crate::media::{self, MediaError, Probe};
use crate::models::NnError;
use crate::progress::Progress;
use crate::recipe;
use crate::sentence::SentenceError;
use crate::summarise;
use crate::transcript::{self, Sentence};

impl Indexer<'_> {
    /// Indexes one video. What is wrong with the video is an outcome; what is wrong with the
    /// machine (a program or a model missing, the disk full, Ctrl-C) is an error.
    pub(super) fn index_video(
        &self,
        record: &VideoRecord,
        progress: &dyn Progress,
    ) -> Result<Outcome> {
        self.indexed(record, progress).or_else(failure)
    }

    fn indexed(
        &self,
        record: &VideoRecord,
        progress: &dyn Progress,
    ) -> Result<Outcome, EncoderError> {
        if let Some(listed) = self.list.and_then(|list| list.videos.get(&record.path)) {
            return self.index_listed(record, listed, progress);
        }
        let probe = media::probe(&record.path, progress)?;
        let narration = self.narration(record, &probe, progress)?;
        let (length_ms, width, height) = (probe.duration_ms, probe.width, probe.height);
        let video = Video { length_ms, width, height, ..read_metadata(&record.path) };
        let Narration { mut sentences, uncertain, by } = narration.unwrap_or_default();
        let input = VideoInput { path: &record.path, length_ms, sentences: &sentences };
        let seconds = self.encoder.encode_seconds(&input, progress)?;
        let features = &seconds.features;
        self.correct(&mut sentences, &uncertain, features, progress)?;
        let steps = self.steps(record, &video.title, &sentences, progress);
        let indexed = self.clips(record, length_ms, seconds, steps)?;
        if indexed.clips.is_empty() && !self.encoder.sees() {
            let no_listener = probe.audio.is_some() && self.speech.is_none();
            return Ok(Outcome::Failed(no_steps(&sentences, no_listener).into()));
        }
        let indexed = Indexed { sentences, narration_by: by, ..indexed };
        Ok(Outcome::Ready(video, Box::new(indexed)))
    }

    /// Indexes a video by its features and what the list says of it.
    fn index_listed(
        &self,
        record: &VideoRecord,
        listed: &ListedVideo,
        progress: &dyn Progress,
    ) -> Result<Outcome, EncoderError> {
        let steps = Steps::given(listed.steps.clone(), "the list of videos");
        let steps = Steps { spoken: listed.spoken, ..steps };
        let length_ms = listed.video.length_ms;
        let input = VideoInput { path: &record.path, length_ms, sentences: &[] };
        let seconds = self.encoder.encode_seconds(&input, progress)?;
        let sentences = listed.sentences.clone();
        let indexed = Indexed { sentences, ..self.clips(record, length_ms, seconds, steps)? };
        Ok(Outcome::Ready(listed.video.clone(), Box::new(indexed)))
    }

    /// A subtitle file beside the video, else a text stream inside it, else recognised speech, else text on the screen.
    fn narration(
        &self,
        record: &VideoRecord,
        probe: &Probe,
        progress: &dyn Progress,
    ) -> Result<Option<Narration>, EncoderError> {
        let narration =
            |sentences, by| Narration { sentences, uncertain: Vec::new(), by: Some(by) };
        for file in transcript::sidecar(&record.path) {
            let name = file.file_name().unwrap_or_default().to_string_lossy().into_owned();
            match transcript::read(&file) {
                Ok(sentences) => return Ok(Some(narration(sentences, name))),
                Err(error) => progress.warn(&error.to_string()),
            }
        }
        for stream in &probe.text_streams {
            if let Some(sentences) = text_inside(record, *stream, progress)? {
                return Ok(Some(narration(sentences, "a text stream of the video".into())));
            }
        }
        let spoken = match self.speech.filter(|_| probe.audio.is_some()) {
            Some(listener) => recognised_speech(listener, record, progress)?,
            None => None,
        };
        match (spoken, self.screen_text) {
            (None, Some(reader)) => {
                let sentences = reader.read(&record.path, probe, progress)?;
                let by = format!("text on the screen, read by {}", reader.name);
                Ok(Some(narration(sentences, by)).filter(|found| !found.sentences.is_empty()))
            }
            (spoken, _) => Ok(spoken),
        }
    }

    /// Corrects uncertain words by the frames, before anything is made of the sentences.
    fn correct(
        &self,
        sentences: &mut [Sentence],
        uncertain: &[UncertainWord],
        seconds: &Features,
        progress: &dyn Progress,
    ) -> Result<(), EncoderError> {
        let encode = |texts: &[&str]| {
            progress.check()?;
            self.encoder.encode_text(texts)
        };
        match self.encoder.sees() {
            true => corrections::correct(sentences, uncertain, seconds, encode),
            false => Ok(()),
        }
    }

    /// By the best that is there: a person's list, a language model, rules.
    fn steps(
        &self,
        record: &VideoRecord,
        title: &str,
        sentences: &[Sentence],
        progress: &dyn Progress,
    ) -> Steps {
        let own = record.path.with_extension("steps.json");
        if own.exists() {
            let list = read_side_file(&own).map_err(|error| error.to_string()).and_then(|bytes| {
                recipe::read_step_list(&bytes)
                    .map_err(|error| format!("{}: {error}", own.display()))
            });
            match list {
                Ok(list) => return Steps::from_list(list),
                Err(error) => progress.warn(&error),
            }
        }
        if let Some((chat, domain)) = self.chat {
            match summarise::by_language_model(chat, domain, title, sentences) {
                Ok(steps) => return Steps::narrated(steps, Vec::new(), chat.model()),
                Err(error) => progress.warn(&format!(
                    "{}: {error}; its steps are found by rules instead",
                    record.path.display()
                )),
            }
        }
        let steps = summarise::by_rules(sentences);
        let possible = summarise::possible_steps(&steps, sentences);
        Steps::narrated(steps, possible, "rules")
    }

    /// Finds each step in the seconds of the video, and encodes the clips.
    fn clips(
        &self,
        record: &VideoRecord,
        length_ms: u64,
        seconds: Seconds,
        steps: Steps,
    ) -> Result<Indexed, EncoderError> {
        let Steps { steps, possible, by, spoken } = steps;
        let (steps, queries) = self.with_confirmed(steps, possible, &seconds.features)?;
        let sees = self.encoder.sees();
        let (found, by) = match steps.is_empty() {
            true if !sees => (Vec::new(), by),
            true => {
                let scenes = spans::scenes(&seconds.features, &seconds.shots, length_ms);
                (scenes, "the pictures".into())
            }
            false => {
                let (steps, queries) = (&steps, &queries);
                let (seconds, shots) = (&seconds.features, &seconds.shots);
                let context = Context { steps, queries, seconds, shots, length_ms, sees, spoken };
                (spans::spans(&context), by)
            }
        };
        let text = |found: &StepSpan| found.step.map_or("", |step| &steps[step].text);
        let video = VideoId(record.id);
        let clip = |found: &StepSpan| Clip { video, span: found.span, text: text(found).into() };
        let texts: Vec<&str> = found.iter().map(text).collect();
        let shots = seconds.shots.clone();
        let features =
            self.video_features(&found, &queries, (&record.video.title, &texts), seconds)?;
        let (clips, sentences) = (found.iter().map(clip).collect(), Vec::new());
        Ok(Indexed { sentences, clips, features, shots, narration_by: None, steps_by: by })
    }

    /// The steps and those possible ones that the frames confirm, in order of time, with their features.
    fn with_confirmed(
        &self,
        steps: Vec<VideoStep>,
        possible: Vec<VideoStep>,
        seconds: &Features,
    ) -> Result<(Vec<VideoStep>, Features), EncoderError> {
        let encode = |steps: &[VideoStep]| {
            let texts: Vec<&str> = steps.iter().map(|step| step.text.as_str()).collect();
            self.encoder.encode_text(&texts)
        };
        let features = encode(&steps)?;
        if possible.is_empty() || steps.is_empty() || !self.encoder.sees() {
            return Ok((steps, features));
        }
        let queries = encode(&possible)?;
        let is_confirmed = confirmed((&steps, &features), (&possible, &queries), seconds);
        let also = possible.into_iter().zip(queries.rows()).zip(is_confirmed);
        let also = also.filter_map(|(step, is_confirmed)| is_confirmed.then_some(step));
        let mut all: Vec<(VideoStep, &[f32])> =
            steps.into_iter().zip(features.rows()).chain(also).collect();
        all.sort_by_key(|(step, _)| step.window);
        let mut rows = Features::empty(features.dim());
        all.iter().for_each(|(_, row)| rows.push(row));
        Ok((all.into_iter().map(|(step, _)| step).collect(), rows))
    }

    /// Of a video whose clips are found; `texts` are those of the clips, `queries` F_M's features of the steps.
    pub(super) fn video_features(
        &self,
        found: &[StepSpan],
        queries: &Features,
        (title, texts): (&str, &[&str]),
        seconds: Seconds,
    ) -> Result<VideoFeatures, EncoderError> {
        let clip = clip_features(found, &seconds.features);
        Ok(VideoFeatures {
            agreement: self.agreement(found, queries, &clip),
            text: self.text_features(title, texts)?,
            clip,
            appearance: moments(found, &seconds.appearance),
            seconds: seconds.features,
            footage: seconds.footage,
        })
    }

    /// Of no pairs where there is only one of text and frames.
    fn agreement(&self, found: &[StepSpan], queries: &Features, clips: &Features) -> Agreement {
        let mut words = Features::empty(queries.dim());
        for span in found {
            match span.step.filter(|_| self.encoder.sees()) {
                Some(step) => words.push(queries.row(step)),
                None => return Agreement::default(),
            }
        }
        Agreement::of_video(&words, clips)
    }

    /// Sentence features of the clips' texts, understood in their video; a zero row for a clip without text.
    fn text_features(&self, title: &str, texts: &[&str]) -> Result<Features, EncoderError> {
        let given: Vec<&str> = texts.iter().copied().filter(|text| !text.is_empty()).collect();
        let encoded = self.sentence.encode_narration(title, &given)?;
        let mut rows = encoded.rows();
        let mut features = Features::empty(self.sentence.dim());
        let nothing = vec![0.0; self.sentence.dim()];
        for text in texts {
            let row = if text.is_empty() { None } else { rows.next() };
            features.push(row.unwrap_or(&nothing));
        }
        Ok(features)
    }
}

/// A clip's feature is the mean of its seconds.
fn clip_features(found: &[StepSpan], seconds: &Features) -> Features {
    let mut clip = Features::empty(seconds.dim());
    found.iter().for_each(|span| clip.push(&seconds.mean_of(span.seconds.clone())));
    clip
}

/// The [`Moment`](stitch_core::pool::Moment)s of the clips: the first and the last of their seconds that show
/// anything, and the mean in between.
fn moments(found: &[StepSpan], seconds: &Features) -> Features {
    let mut moments = Features::empty(seconds.dim());
    for StepSpan { seconds: own, .. } in found {
        let shows = |second: &usize| seconds.row(*second).iter().any(|x| *x != 0.0);
        let [first, last] = [own.clone().find(shows), own.clone().rfind(shows)];
        let mean = seconds.mean_of(own.clone());
        let row = |second: Option<usize>| second.map_or(mean.as_slice(), |at| seconds.row(at));
        [row(first), mean.as_slice(), row(last)].into_iter().for_each(|row| moments.push(row));
    }
    moments
}

#[derive(Default)]
struct Narration {
    sentences: Vec<Sentence>,
    uncertain: Vec<UncertainWord>,
    /// Where it came from, for the user.
    by: Option<String>,
}

/// The sentences of a text stream of the video. One that cannot be read, or not in time, is a warning:
/// of a large file with few texts nothing may come for long.
fn text_inside(
    record: &VideoRecord,
    stream: u32,
    progress: &dyn Progress,
) -> Result<Option<Vec<Sentence>>, MediaError> {
    let left_out = |error: &dyn std::fmt::Display| {
        let path = record.path.display();
        progress.warn(&format!("{path}: its text stream {stream} is left out: {error}"));
    };
    let text = match media::text_stream(&record.path, stream, progress) {
        Err(error @ (MediaError::TimedOut { .. } | MediaError::Failed { .. })) => {
            left_out(&error);
            return Ok(None);
        }
        text => text?,
    };
    Ok(transcript::from_bytes(&text).inspect_err(|error| left_out(error)).ok())
}

/// What is said in the video, by the speech model. Damaged sound is a warning.
fn recognised_speech(
    listener: &Listener,
    record: &VideoRecord,
    progress: &dyn Progress,
) -> Result<Option<Narration>, MediaError> {
    let path = record.path.display();
    let listened = match listener.listen(&record.path, &hint(&record.path), progress) {
        Ok(listened) => listened,
        Err(ListenError::Stopped(stopped)) => return Err(stopped.into()),
        // Sound that cannot be decoded at all leaves the pictures.
        Err(
            error @ ListenError::Media(MediaError::Failed { .. } | MediaError::TimedOut { .. }),
        ) => {
            progress.warn(&format!("{path}: its sound is left out: {error}"));
            return Ok(None);
        }
        Err(ListenError::Media(error)) => return Err(error),
        Err(error) => {
            progress.warn(&format!("{path}: {error}"));
            return Ok(None);
        }
    };
    if let Some(damage) = &listened.damage {
        let used = "what can be decoded is used";
        progress.warn(&format!("{path}: part of its sound is damaged ({damage}); {used}"));
    }
    // The stop words and the rules that corrections go by are English.
    let is_english = listened.language.as_deref() == Some("en");
    let uncertain = if is_english { listened.uncertain } else { Vec::new() };
    let by = Some(format!("speech recognised by {}", listener.name));
    let narration = Narration { sentences: listened.sentences, uncertain, by };
    Ok(Some(narration).filter(|narration| !narration.sentences.is_empty()))
}

fn no_steps(sentences: &[Sentence], no_listener: bool) -> &'static str {
    if sentences.is_empty() && no_listener {
        "it has sound but no subtitles, and there is no speech model to listen with; get one with \
         `stitch models pull whisper-base` and index again"
    } else if sentences.is_empty() {
        "nothing is known of what it shows: there is no subtitle file beside it and no text inside \
         it; put NAME.srt, NAME.vtt or NAME.steps.json beside it, or run `stitch models pull ppocr-v6` \
         if it shows text, and index again"
    } else {
        "its narration names no step; write the steps into NAME.steps.json beside it and index \
         again"
    }
}

/// An error is the video's fault unless every other video would have it: asked to stop, a program or a
/// model missing, the disk full.
pub(super) fn failure(error: EncoderError) -> Result<Outcome> {
    match error {
        EncoderError::Stopped(stopped)
        | EncoderError::Media(MediaError::Stopped(stopped))
        | EncoderError::Sentence(SentenceError::Stopped(stopped)) => Err(stopped.into()),
        EncoderError::Media(
            error @ (MediaError::Missing { .. }
            | MediaError::NotStarted { .. }
            | MediaError::CodecMissing { .. }
            | MediaError::DiskFull { .. }),
        ) => Err(IndexError::Media(error)),
        // The caller names the video.
        EncoderError::Media(MediaError::Unusable { reason, .. }) => Ok(Outcome::Failed(reason)),
        error if is_missing_model(&error) => Err(IndexError::Encoder(error)),
        error => Ok(Outcome::Failed(error.to_string())),
    }
}

/// Whether a model is not there or its files cannot be opened. That a model fails on the words or the
/// frames of a video says nothing of the next video.
fn is_missing_model(error: &EncoderError) -> bool {
    match error {
        EncoderError::NoRuntime(_)
        | EncoderError::NotPulled { .. }
        | EncoderError::Unknown { .. }
        | EncoderError::Model(_)
        | EncoderError::File(_) => true,
        EncoderError::Weights(error) | EncoderError::Sentence(SentenceError::Weights(error)) => {
            use NnError::{GraphRun, Tokenizer, UnknownToken};
            !matches!(error, Tokenizer { .. } | GraphRun { .. } | UnknownToken { .. })
        }
        _ => false,
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::files::FileError;

    #[test]
    fn what_every_video_would_have_ends_the_run() {
        let name = || "clip".to_owned();
        let gone = || FileError::at("model.safetensors")(std::io::ErrorKind::NotFound.into());
        let errors: [EncoderError; 4] = [
            EncoderError::NotPulled { name: name() },
            EncoderError::Unknown { name: name() },
            NnError::from(gone()).into(),
            SentenceError::from(NnError::from(gone())).into(),
        ];
        for error in errors {
            let ended = failure(error).err();
            assert!(matches!(ended, Some(IndexError::Encoder(_))), "{ended:?}");
        }
    }

    #[test]
    fn what_a_model_makes_of_one_video_is_that_videos_failure() {
        let reason = || "an odd text".to_owned();
        let errors = [
            NnError::Tokenizer { path: "tokenizer.json".into(), reason: reason() },
            NnError::GraphRun { graph: "image.onnx".into(), reason: reason() },
        ];
        for error in errors {
            let failed = failure(error.into()).unwrap();
            assert!(matches!(failed, Outcome::Failed(said) if said.contains("an odd text")));
        }
        let failed = failure(NnError::UnknownToken { token: 7 }.into()).unwrap();
        assert!(matches!(failed, Outcome::Failed(said) if said.contains("token 7")));
    }
}
