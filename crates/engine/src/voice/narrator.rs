//! The sound and the word times of every sentence: synthesised once and kept, or cut out of a recording.

use std::fs;
use std::ops::Range;
use std::path::{Path, PathBuf};

use serde::{Deserialize, Serialize};
use serde_json::json;

use super::VoiceError;
use super::speaker::Speaker;
use super::words::{is_same, pair, spread, timed};
use crate::files::{FileError, mark_used, temporary, write_whole};
use crate::listen::Listener;
use crate::media::audio::RATE;
use crate::media::encode::Pcm;
use crate::media::speech::{self, Voice};
use crate::media::{AudioReader, MediaError};
use crate::progress::{Progress, Within};
use crate::render::cache::{identity, key};
use crate::summarise::chat::Chat;
use crate::transcript::Sentence;

type Result<T, E = VoiceError> = std::result::Result<T, E>;

/// Words a minute, at which instructions are easy to follow.
const WORDS_PER_MINUTE: u32 = 155;
/// Longer sound is no sentence.
const MAX_SENTENCE_MS: u64 = 600_000;
/// Sound kept before the first and after the last word of a step in a recording.
const MARGIN_MS: u64 = 150;

/// A speaker at work.
pub struct Narrator {
    pub speaker: Speaker,
    /// Finds out when words are said.
    pub listener: Option<Listener>,
    /// The folder that keeps what was spoken.
    pub cache: PathBuf,
}

/// A spoken sentence.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct Speech {
    pub sound: PathBuf,
    pub length_ms: u64,
    /// The written words, at times from the beginning of the sound.
    pub words: Vec<Sentence>,
}

impl Narrator {
    /// The texts spoken; none stays none, as does a text that a recording does not say.
    pub fn speak(
        &self,
        texts: &[Option<String>],
        progress: &dyn Progress,
    ) -> Result<Vec<Option<Speech>>> {
        fs::create_dir_all(&self.cache).map_err(FileError::at(&self.cache))?;
        progress.begin("speaking", texts.len() as u64);
        if let Speaker::Recording(path) = &self.speaker {
            return self.recorded(path, texts, progress);
        }
        let mut speeches = Vec::new();
        for text in texts {
            progress.check()?;
            let words = text.as_deref().filter(|text| text.contains(char::is_alphanumeric));
            speeches.push(words.map(|text| self.sentence(text, progress)).transpose()?);
            progress.advance(1);
        }
        Ok(speeches)
    }

    /// One text, out of the cache if it was spoken before.
    fn sentence(&self, text: &str, progress: &dyn Progress) -> Result<Speech> {
        let key = key(&["voice", &self.identity(), text]);
        let record = self.cache.join(format!("{key}.json"));
        let kept = fs::read(&record).ok().and_then(|bytes| serde_json::from_slice(&bytes).ok());
        if let Some(speech) = kept.filter(|speech: &Speech| speech.sound.exists()) {
            mark_used(&record);
            mark_used(&speech.sound);
            return Ok(speech);
        }
        let speech = self.synthesise(text, &record.with_extension("wav"), progress)?;
        write_whole(&record, json!(speech).to_string().as_bytes())?;
        Ok(speech)
    }

    /// Whatever another sound or other times depend on: the speaker and the bytes of the models.
    pub fn identity(&self) -> String {
        let listener = self.listener.as_ref().map_or("", |listener| listener.name.as_str());
        let model = match &self.speaker {
            Speaker::Piper(path) | Speaker::Recording(path) => identity(path).unwrap_or_default(),
            Speaker::Endpoint(endpoint, _) => endpoint.model().to_owned(),
            _ => String::new(),
        };
        format!("{} {model} {listener}", self.speaker.name())
    }

    fn synthesise(&self, text: &str, sound: &Path, progress: &dyn Progress) -> Result<Speech> {
        let written: Vec<&str> = text.split_whitespace().collect();
        let folder = &self.cache;
        let temporary = || temporary(folder, ".wav").map_err(FileError::at(folder));
        let mut pcm = match &self.speaker {
            Speaker::Espeak(name) => speech::speak(text, &espeak_voice(name))?,
            Speaker::Piper(model) => {
                let file = temporary()?;
                speech::piper(text, model, file.path(), progress)?;
                decode(file.path(), 0..MAX_SENTENCE_MS, progress)?
            }
            Speaker::Endpoint(endpoint, voice) => {
                let file = temporary()?;
                fs::write(file.path(), request(endpoint, voice, text)?)
                    .map_err(FileError::at(file.path()))?;
                decode(file.path(), 0..MAX_SENTENCE_MS, progress)
                    .map_err(|error| no_sound(error, endpoint))?
            }
            // of this text alone
            Speaker::Recording(path) => decode(path, 0..MAX_SENTENCE_MS, progress)?,
        };
        speech::trim(&mut pcm.samples);
        let length_ms = speech::length_ms(&pcm);
        write_whole(sound, &speech::write_wav(&pcm))?;
        let words = match (&self.speaker, &self.listener) {
            (Speaker::Espeak(name), _) => {
                let starts = speech::word_starts(text, &espeak_voice(name))?;
                from_starts(&written, &starts, length_ms)
            }
            (_, Some(listener)) => {
                let heard = listener.words(sound, &Within(progress))?;
                let said: Vec<&str> = heard.iter().map(|word| word.text.as_str()).collect();
                timed(&written, &pair(&written, &said), &heard, 0..length_ms)
            }
            _ => spread(&written, 0..length_ms),
        };
        Ok(Speech { sound: sound.to_owned(), length_ms, words })
    }

    /// Each text cut out of a recording of all of them.
    fn recorded(
        &self,
        path: &Path,
        texts: &[Option<String>],
        progress: &dyn Progress,
    ) -> Result<Vec<Option<Speech>>> {
        let listener = self.listener.as_ref().ok_or(VoiceError::NoListener)?;
        let heard = listener.words(path, &Within(progress))?;
        let said: Vec<&str> = heard.iter().map(|word| word.text.as_str()).collect();
        let written: Vec<&str> =
            texts.iter().flatten().flat_map(|text| text.split_whitespace()).collect();
        let pairs = pair(&written, &said);
        let mut speeches = Vec::new();
        let mut at = 0;
        for (step, text) in texts.iter().enumerate() {
            progress.check()?;
            let count = text.as_ref().map_or(0, |text| text.split_whitespace().count());
            let (own, own_pairs) = (&written[at..at + count], &pairs[at..at + count]);
            at += count;
            let range = said_range(own, own_pairs, &said).map(|words| cut_range(&words, &heard));
            if range.is_none() && text.is_some() {
                progress.warn(&format!(
                    "step {} is not said in {}; it stays without a voice",
                    step + 1,
                    path.display()
                ));
            }
            let cut = |range| cut_out(path, range, own, own_pairs, &heard, &self.cache, progress);
            speeches.push(range.map(cut).transpose()?);
            progress.advance(1);
        }
        match speeches.iter().any(Option::is_some) {
            true => Ok(speeches),
            false => Err(VoiceError::NothingSaid { path: path.to_owned() }),
        }
    }
}

/// The part of a recording that says the written words.
fn cut_out(
    path: &Path,
    range: Range<u64>,
    written: &[&str],
    pairs: &[Option<usize>],
    heard: &[Sentence],
    cache: &Path,
    progress: &dyn Progress,
) -> Result<Speech> {
    let key = key(&["recording", &identity(path)?, &format!("{range:?}")]);
    let sound = cache.join(format!("{key}.wav"));
    let pcm = decode(path, range.clone(), progress)?;
    write_whole(&sound, &speech::write_wav(&pcm))?;
    let mut words = timed(written, pairs, heard, range.clone());
    for word in &mut words {
        word.start_ms -= range.start;
        word.end_ms -= range.start;
    }
    Ok(Speech { sound, length_ms: speech::length_ms(&pcm), words })
}

fn espeak_voice(name: &str) -> Voice {
    Voice { name: name.into(), words_per_minute: WORDS_PER_MINUTE, pitch: 50 }
}

/// Each word lasts until the next begins.
fn from_starts(written: &[&str], starts: &[u64], length_ms: u64) -> Vec<Sentence> {
    let end = |i: usize| starts.get(i + 1).copied().unwrap_or(length_ms);
    let word = |(i, (text, start)): (usize, (&&str, &u64))| Sentence {
        start_ms: *start,
        end_ms: end(i).max(*start),
        text: (*text).to_owned(),
    };
    written.iter().zip(starts).enumerate().map(word).collect()
}

/// The endpoint's sound for a text.
fn request(endpoint: &Chat, voice: &str, text: &str) -> Result<Vec<u8>> {
    let body = json!({
        "model": endpoint.model(), "input": text, "voice": voice, "response_format": "wav",
    });
    Ok(endpoint.post("audio/speech", &body)?)
}

/// What cannot be decoded is no sound.
fn no_sound(error: VoiceError, endpoint: &Chat) -> VoiceError {
    match error {
        VoiceError::Media(MediaError::Failed { .. } | MediaError::Unusable { .. }) => {
            VoiceError::NoSound { address: endpoint.address() }
        }
        other => other,
    }
}

/// A part of a file's sound, mono.
fn decode(path: &Path, range_ms: Range<u64>, progress: &dyn Progress) -> Result<Pcm> {
    let seconds = |ms: u64| ms as f64 / 1000.0;
    let length_s = seconds(range_ms.end - range_ms.start);
    let mut audio = AudioReader::cut(path, seconds(range_ms.start), length_s, 1.0)?;
    let (mut samples, mut buffer) = (Vec::new(), vec![0.0; 2 * RATE as usize]);
    loop {
        let count = audio.read(&mut buffer, progress)?;
        let mono = buffer[..count].as_chunks::<2>().0.iter().map(|[left, right]| left + right);
        samples.extend(mono.map(|x| (x * 16_383.5).clamp(-32_768.0, 32_767.0) as i16));
        if count < buffer.len() {
            break;
        }
    }
    audio.finish_undamaged(progress)?;
    match samples.is_empty() {
        true => {
            Err(MediaError::Unusable { path: path.into(), reason: "has no sound".into() }.into())
        }
        false => Ok(Pcm { rate: RATE, samples }),
    }
}

/// The heard words of a step, from its first to its last; none unless most of its words are among them.
fn said_range(own: &[&str], pairs: &[Option<usize>], said: &[&str]) -> Option<Range<usize>> {
    let same = |(word, place): &(&&str, &Option<usize>)| {
        place.is_some_and(|place| is_same(word, said[place]))
    };
    let found = own.iter().zip(pairs).filter(same).count();
    let mut places = pairs.iter().flatten().copied();
    let first = places.next()?;
    (2 * found > own.len()).then(|| first..places.last().unwrap_or(first) + 1)
}

/// Where these words are, with a little sound around them, but none of other words.
fn cut_range(words: &Range<usize>, heard: &[Sentence]) -> Range<u64> {
    let (first, last) = (&heard[words.start], &heard[words.end - 1]);
    let before = words.start.checked_sub(1).map_or(0, |before| heard[before].end_ms);
    let after = heard.get(words.end).map_or(u64::MAX, |after| after.start_ms);
    let start_ms = first.start_ms.saturating_sub(MARGIN_MS).max(before.min(first.start_ms));
    start_ms..(last.end_ms + MARGIN_MS).min(after.max(last.end_ms))
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::progress::Silent;
    use crate::summarise::chat::tests::{Reply, client, serve};

    /// An endpoint's voice that gives these replies; what it says to one text.
    fn said_by(replies: Vec<Reply>) -> (Result<Speech>, String) {
        let folder = tempfile::tempdir().unwrap();
        let (url, requests) = serve(replies);
        let (endpoint, _) = client(&url, |options| options.retries = 1);
        let speaker = Speaker::Endpoint(Box::new(endpoint), "alloy".into());
        let narrator = Narrator { speaker, listener: None, cache: folder.path().into() };
        let texts = [Some("Chop the onion".to_owned()), None];
        let spoken = narrator.speak(&texts, &Silent).map(|mut speeches| {
            assert_eq!(speeches[1], None);
            // What was spoken is kept: the endpoint would not answer again.
            assert_eq!(narrator.speak(&texts, &Silent).unwrap(), speeches);
            speeches.swap_remove(0).unwrap()
        });
        let requests = requests.lock().unwrap().join("\n");
        (spoken, requests)
    }

    #[test]
    fn an_endpoint_speaks_once_and_its_silence_is_cut() {
        let mut samples = vec![0; 12_000];
        samples.extend((0..24_000).map(|i| if i % 8 < 4 { 9000 } else { -9000 }));
        let wav = speech::write_wav(&Pcm { rate: 24_000, samples });
        let (spoken, request) = said_by(vec![Reply::Http(500, "oops".into()), Reply::Bytes(wav)]);
        let spoken = spoken.unwrap();
        assert!(spoken.length_ms.abs_diff(1000) < 20, "{}", spoken.length_ms);
        let words: Vec<&str> = spoken.words.iter().map(|word| word.text.as_str()).collect();
        assert_eq!(words, ["Chop", "the", "onion"]);
        assert!(request.starts_with("POST /v1/audio/speech"), "{request}");
        assert!(request.contains(r#""input":"Chop the onion""#), "{request}");
    }

    #[test]
    fn an_endpoint_that_gives_no_sound_says_why() {
        let page = || Reply::Http(200, "<html>not a sound</html>".into());
        let table = [
            (
                vec![Reply::Http(500, "oops".into()), Reply::Http(500, "oops".into())],
                "HTTP 500: oops",
            ),
            (vec![page()], "something that is no sound"),
            (vec![Reply::Http(200, String::new())], "something that is no sound"),
            (vec![Reply::Http(401, "no".into())], "refused the key"),
        ];
        for (replies, says) in table {
            let error = said_by(replies).0.unwrap_err().to_string();
            assert!(error.contains(says), "{error}");
            assert!(!error.contains("sk-very-secret"), "{error}");
        }
    }

    #[test]
    fn a_recording_is_cut_at_its_steps_and_a_step_may_be_missing() {
        let said = "so first chop the onion then uh fry it in a pan thank you";
        let said: Vec<&str> = said.split(' ').collect();
        let heard = spread(&said, 0..said.len() as u64 * 1000);
        let steps = ["Chop the onion.", "Boil the potatoes for an hour.", "Fry it in a hot pan"];
        let written: Vec<&str> = steps.iter().flat_map(|step| step.split(' ')).collect();
        let pairs = pair(&written, &said);
        let range = |from: usize, count: usize| {
            said_range(&written[from..from + count], &pairs[from..from + count], &said)
        };
        assert_eq!(range(0, 3), Some(2..5));
        assert_eq!(range(3, 6), None);
        assert_eq!(range(9, 6), Some(7..12));
        let cut = cut_range(&(2..5), &heard);
        assert!(cut.start >= heard[1].end_ms && cut.end <= heard[5].start_ms);
    }
}
