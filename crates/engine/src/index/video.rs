//! Indexing one video: probe, narration, steps, features, clips.

use stitch_core::clip::{Clip, VideoId};
use stitch_core::features::Features;
use stitch_core::pool::Agreement;

use super::given::GivenVideo;
use super::localise::{self, LocaliseOptions, Located, Step};
use super::{IndexError, Indexer, about, understand};
use crate::encoder::{EncoderError, Seconds, VideoInput};
use crate::library::{Indexed, Outcome, Video, VideoFeatures, VideoRecord};
use crate::listen::{ListenError, Listener, Unclear};
use crate::media::{self, MediaError, Probe};
use crate::progress::Progress;
use crate::recipe;
use crate::summarise::{self, Summary, SummaryStep};
use crate::transcript::{self, Sentence, Transcript};

impl Indexer<'_> {
    /// Indexes one video. What is wrong with the video is an outcome; what is wrong with the
    /// machine (a program missing, the disk full, Ctrl-C) is an error.
    pub(super) fn index_video(
        &self,
        record: &VideoRecord,
        progress: &dyn Progress,
    ) -> Result<Outcome, IndexError> {
        if let Some(given) = self.given.and_then(|given| given.video(&record.path)) {
            return self.index_given(record, given, progress);
        }
        let probe = match media::probe(&record.path, progress) {
            Ok(probe) => probe,
            Err(error) => return bad_video(error),
        };
        let narration = match self.narration(record, &probe, progress) {
            Ok(narration) => narration,
            Err(error) => return bad_video(error),
        };
        let mut video = about::about(&record.path);
        fill(&mut video, &probe);
        match self.watch(record, &video, narration, progress) {
            Ok(indexed) if indexed.clips.is_empty() && !self.encoder.sees() => {
                Ok(Outcome::Failed(no_steps(&indexed.sentences, self.unheard(&probe))))
            }
            Ok(indexed) => Ok(Outcome::Ready(video, Box::new(indexed))),
            Err(EncoderError::Media(error)) => bad_video(error),
            Err(error) => unencoded(error),
        }
    }

    /// Looks at the video, and finds in it what its narration tells.
    fn watch(
        &self,
        record: &VideoRecord,
        video: &Video,
        narration: Option<Narrated>,
        progress: &dyn Progress,
    ) -> Result<Indexed, EncoderError> {
        let (mut sentences, unclear, by) = match narration {
            Some(Narrated { transcript, unclear, by }) => (transcript.sentences, unclear, Some(by)),
            None => Default::default(),
        };
        let length_ms = video.length_ms;
        let input = VideoInput { path: &record.path, length_ms, sentences: &sentences };
        let seconds = self.encoder.encode_seconds(&input, progress)?;
        if self.encoder.sees() {
            let encode = |texts: &[&str]| {
                progress.check()?;
                self.encoder.encode_text(texts)
            };
            understand::settle(&mut sentences, &unclear, &seconds.features, encode)?;
        }
        let steps = self.steps(record, &video.title, &sentences, progress);
        let indexed = self.clips(record, length_ms, seconds, steps)?;
        Ok(Indexed { sentences, narration_by: by, ..indexed })
    }

    /// Indexes a video by its features and what the list says of it.
    fn index_given(
        &self,
        record: &VideoRecord,
        given: &GivenVideo,
        progress: &dyn Progress,
    ) -> Result<Outcome, IndexError> {
        let by = "the list of videos".into();
        let steps = Steps { steps: given.steps.clone(), perhaps: Vec::new(), by, spoken: false };
        let length_ms = given.video.length_ms;
        let input = VideoInput { path: &record.path, length_ms, sentences: &[] };
        let seconds = self.encoder.encode_seconds(&input, progress);
        match seconds.and_then(|seconds| self.clips(record, length_ms, seconds, steps)) {
            Ok(indexed) => Ok(Outcome::Ready(given.video.clone(), Box::new(indexed))),
            Err(error) => unencoded(error),
        }
    }

    /// The video's narration: a subtitle file beside it, else a text stream inside it, else what is
    /// heard, else nothing.
    fn narration(
        &self,
        record: &VideoRecord,
        probe: &Probe,
        progress: &dyn Progress,
    ) -> Result<Option<Narrated>, MediaError> {
        for file in transcript::sidecar(&record.path) {
            match transcript::read(&file) {
                Ok(transcript) => return Ok(Some(transcript.into())),
                Err(error) => progress.warn(&error.to_string()),
            }
        }
        for stream in &probe.text_streams {
            let subtitles = media::text_stream(&record.path, *stream, progress)?;
            match transcript::from_text_stream(&subtitles) {
                Ok(transcript) => return Ok(Some(transcript.into())),
                Err(error) => progress.warn(&format!("{}: {error}", record.path.display())),
            }
        }
        match self.speech.filter(|_| probe.has_audio) {
            Some(listener) => heard(listener, record, progress),
            None => Ok(None),
        }
    }

    /// Whether the video has sound that nobody can listen to.
    fn unheard(&self, probe: &Probe) -> bool {
        probe.has_audio && self.speech.is_none()
    }

    /// What the video shows, by the best that is there: a person's list, a language model, rules.
    fn steps(
        &self,
        record: &VideoRecord,
        title: &str,
        sentences: &[Sentence],
        progress: &dyn Progress,
    ) -> Steps {
        let own = record.path.with_extension("steps.json");
        if let Ok(bytes) = std::fs::read(&own) {
            match recipe::read_step_list(&bytes) {
                Ok(list) => return Steps::from_list(list),
                Err(error) => progress.warn(&format!("{}: {error}", own.display())),
            }
        }
        if let Some((chat, domain)) = self.chat {
            match summarise::by_language_model(chat, domain, title, sentences) {
                Ok(summary) => return Steps::from_summary(summary),
                Err(error) => progress.warn(&format!(
                    "{}: {error}; its steps are found by rules instead",
                    record.path.display()
                )),
            }
        }
        let summary = summarise::by_rules(title, sentences);
        let perhaps = summarise::perhaps(&summary, sentences);
        let perhaps = perhaps.into_iter().map(Step::from).collect();
        Steps { perhaps, ..Steps::from_summary(summary) }
    }

    /// Encodes the steps, and finds each in the seconds of the video.
    fn clips(
        &self,
        record: &VideoRecord,
        length_ms: u64,
        seconds: Seconds,
        steps: Steps,
    ) -> Result<Indexed, EncoderError> {
        let Seconds { features: seconds, shots, footage } = seconds;
        let Steps { steps, perhaps, by, spoken } = steps;
        let (steps, queries) = self.told_or_seen(steps, perhaps, &seconds)?;
        let (located, by) = match steps.is_empty() {
            true if !self.encoder.sees() => (Vec::new(), by),
            true => (localise::scenes(&seconds, &shots, length_ms), "the pictures".into()),
            false => (self.locate(&steps, spoken, &queries, &seconds, &shots, length_ms), by),
        };
        let text = |found: &Located| found.step.map_or("", |step| &steps[step].text);
        let clip = |found: &Located| Clip {
            video: VideoId(record.id),
            span: found.span,
            text: text(found).to_owned(),
        };
        let clips = located.iter().map(clip).collect();
        let texts: Vec<&str> = located.iter().map(text).collect();
        let clip = clip_features(&located, &seconds);
        let agreement = self.agreement(&located, &queries, &clip);
        let text = self.text_features(&texts)?;
        let features = VideoFeatures { text, clip, seconds, footage, agreement };
        let (sentences, narration_by) = (Vec::new(), None);
        Ok(Indexed { sentences, clips, features, shots, narration_by, steps_by: by })
    }

    /// The steps that are told, and of those that perhaps are the ones that are seen, in order of time
    /// and with their features.
    fn told_or_seen(
        &self,
        steps: Vec<Step>,
        perhaps: Vec<Step>,
        seconds: &Features,
    ) -> Result<(Vec<Step>, Features), EncoderError> {
        let told = self.queries(&steps)?;
        if perhaps.is_empty() || steps.is_empty() || !self.encoder.sees() {
            return Ok((steps, told));
        }
        let queries = self.queries(&perhaps)?;
        let seen = localise::seen((&steps, &told), (&perhaps, &queries), seconds);
        let also = perhaps.into_iter().zip(queries.rows()).zip(seen);
        let also = also.filter_map(|(step, seen)| seen.then_some(step));
        let mut all: Vec<(Step, &[f32])> = steps.into_iter().zip(told.rows()).chain(also).collect();
        all.sort_by_key(|(step, _)| step.window);
        let mut features = Features::empty(told.dim());
        all.iter().for_each(|(_, row)| features.push(row));
        Ok((all.into_iter().map(|(step, _)| step).collect(), features))
    }

    fn queries(&self, steps: &[Step]) -> Result<Features, EncoderError> {
        let texts: Vec<&str> = steps.iter().map(|step| step.text.as_str()).collect();
        self.encoder.encode_text(&texts)
    }

    /// Where each step is shown, from shot to shot where one begins near. What is only spoken of is shown
    /// for as long as its shots last; what somebody gave the times of, then.
    fn locate(
        &self,
        steps: &[Step],
        spoken: bool,
        queries: &Features,
        seconds: &Features,
        shots: &[u64],
        length_ms: u64,
    ) -> Vec<Located> {
        let looks_on = spoken && self.encoder.sees();
        let after = if looks_on { self.localise.after } else { self.localise.before };
        let options = LocaliseOptions { after, ..self.localise };
        let mut located = localise::localise(steps, queries, seconds, length_ms, &options);
        for found in &mut located {
            found.span = localise::trimmed(found.span, shots);
        }
        if looks_on {
            localise::grow(&mut located, shots, length_ms);
        }
        for found in &mut located {
            if let Some(step) = found.step.filter(|_| self.encoder.sees()) {
                localise::tighten(found, queries.row(step), seconds, shots);
            }
            if looks_on {
                found.follow(seconds.len());
            }
        }
        located
    }

    /// How far words and pictures agree: nothing to count where there is only one of them.
    fn agreement(&self, located: &[Located], queries: &Features, clips: &Features) -> Agreement {
        if !self.encoder.sees() || located.iter().any(|found| found.step.is_none()) {
            return Agreement::default();
        }
        let mut words = Features::empty(queries.dim());
        located
            .iter()
            .filter_map(|found| found.step)
            .for_each(|step| words.push(queries.row(step)));
        Agreement::of_video(&words, clips)
    }

    /// Sentence features of the clips' texts; a clip without words has none.
    fn text_features(&self, texts: &[&str]) -> Result<Features, EncoderError> {
        let spoken: Vec<&str> = texts.iter().copied().filter(|text| !text.is_empty()).collect();
        let encoded = self.sentence.encode(&spoken)?;
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
fn clip_features(located: &[Located], seconds: &Features) -> Features {
    let mut clip = Features::empty(seconds.dim());
    for found in located {
        clip.push(&seconds.mean_of(found.seconds.clone()));
    }
    clip
}

/// Steps to be found in a video, with the windows they were spoken in where that is known.
struct Steps {
    steps: Vec<Step>,
    /// What may be steps, if the pictures say so.
    perhaps: Vec<Step>,
    by: String,
    /// Whether the windows are of words, not of what is shown.
    spoken: bool,
}

impl Steps {
    fn from_summary(summary: Summary) -> Self {
        let steps = summary.steps.into_iter().map(Step::from).collect();
        Self { steps, perhaps: Vec::new(), by: summary.by, spoken: true }
    }

    fn from_list(list: recipe::StepList) -> Self {
        let step = |step: recipe::GivenStep| Step {
            window: step.start_ms.zip(step.end_ms),
            text: step.text,
        };
        let steps = list.steps.into_iter().map(step).collect();
        Self { steps, perhaps: Vec::new(), by: "a person's list".into(), spoken: false }
    }
}

impl From<SummaryStep> for Step {
    fn from(step: SummaryStep) -> Self {
        Self { text: step.text, window: Some((step.start_ms, step.end_ms)) }
    }
}

/// A narration and who made it.
struct Narrated {
    transcript: Transcript,
    /// Words that were perhaps others.
    unclear: Vec<Unclear>,
    by: String,
}

impl From<Transcript> for Narrated {
    fn from(transcript: Transcript) -> Self {
        Self { by: transcript.origin.to_string(), unclear: Vec::new(), transcript }
    }
}

/// What a video is called and whose it is: words that are likely to be said in it.
pub fn hint(path: &std::path::Path) -> String {
    let video = about::about(path);
    let by = video.uploader.map(|name| format!(", {name}")).unwrap_or_default();
    format!("{}{by}.", video.title)
}

/// What is said in the video, by the speech model. Damaged sound is told and used as far as it goes.
fn heard(
    listener: &Listener,
    record: &VideoRecord,
    progress: &dyn Progress,
) -> Result<Option<Narrated>, MediaError> {
    let listened = match listener.listen(&record.path, &hint(&record.path), progress) {
        Ok(listened) => listened,
        Err(ListenError::Stopped(stopped)) => return Err(stopped.into()),
        // Sound that cannot be decoded at all leaves the pictures.
        Err(error @ ListenError::Media(MediaError::Failed { .. })) => {
            progress.warn(&format!("{}: its sound is left out: {error}", record.path.display()));
            return Ok(None);
        }
        Err(ListenError::Media(error)) => return Err(error),
        Err(error) => {
            progress.warn(&format!("{}: {error}", record.path.display()));
            return Ok(None);
        }
    };
    if let Some(damage) = &listened.damage {
        progress.warn(&format!(
            "{}: part of its sound is damaged ({damage}); what can be decoded is used",
            record.path.display()
        ));
    }
    let by = format!("speech recognised by {}", listener.name());
    // What is known of words that say nothing, and of steps that are told, is English.
    let english = listened.language.as_deref() == Some("en");
    let unclear = if english { listened.unclear } else { Vec::new() };
    Ok(listened.transcript.map(|transcript| Narrated { transcript, unclear, by }))
}

fn no_steps(sentences: &[Sentence], unheard: bool) -> String {
    if sentences.is_empty() && unheard {
        "it has sound but no subtitles, and there is no speech model to listen with; get one with \
         `stitch models pull whisper-base` and index again"
            .into()
    } else if sentences.is_empty() {
        "nothing is known of what it shows: there is no subtitle file beside it and no text inside \
         it; put NAME.srt, NAME.vtt or NAME.steps.json beside it and index again"
            .into()
    } else {
        "its narration names no step; write the steps into NAME.steps.json beside it and index \
         again"
            .into()
    }
}

fn fill(video: &mut Video, probe: &Probe) {
    video.length_ms = probe.duration_ms;
    video.width = probe.width;
    video.height = probe.height;
}

/// What became of a video that the encoder made nothing of: its own fault, or everybody's.
fn unencoded(error: EncoderError) -> Result<Outcome, IndexError> {
    match error {
        EncoderError::Stopped(stopped) => Err(stopped.into()),
        EncoderError::Precomputed(error) => Ok(Outcome::Failed(error.to_string())),
        error => Err(IndexError::Encoder(error)),
    }
}

/// A media error as the video's own fault, unless it is the machine's.
fn bad_video(error: MediaError) -> Result<Outcome, IndexError> {
    match error {
        MediaError::Stopped(stopped) => Err(stopped.into()),
        MediaError::Missing { .. }
        | MediaError::NotStarted { .. }
        | MediaError::CodecMissing { .. }
        | MediaError::DiskFull { .. } => Err(IndexError::Media(error)),
        // Whoever tells the reason says which video it is of.
        MediaError::Unusable { reason, .. } => Ok(Outcome::Failed(reason)),
        MediaError::Failed { .. } | MediaError::File(_) => Ok(Outcome::Failed(error.to_string())),
    }
}
