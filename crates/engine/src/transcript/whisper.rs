//! The JSON of speech recognisers: openai-whisper and WhisperX, whisper.cpp, faster-whisper.

use serde_json::Value;

use super::cue::{Cue, Line};
use super::record::Kind;
use super::text::spoken;

/// What a recogniser's file holds.
pub struct Recognised {
    /// Whose file it is.
    pub kind: Kind,
    /// The language it heard.
    pub language: Option<String>,
    /// Its segments.
    pub cues: Vec<Cue>,
    /// Segments without readable times, of no speech, or repeated over and over.
    pub dropped: usize,
}

/// The segments in the JSON; none if it has no such shape.
pub fn recognised(json: &Value) -> Option<Recognised> {
    let (kind, segments) = shape(json)?;
    let read = |segment| match kind {
        Kind::WhisperCpp => cpp_segment(segment),
        _ => segment_in_seconds(segment),
    };
    let mut cues: Vec<Cue> = segments.iter().filter_map(read).collect();
    let mut dropped = segments.len() - cues.len();
    dropped += drop_loops(&mut cues);
    cues.retain(|cue| !cue.lines.is_empty());
    Some(Recognised { kind, language: language(json), cues, dropped })
}

/// Whose shape it is and where the segments are.
fn shape(json: &Value) -> Option<(Kind, &Vec<Value>)> {
    if let Some(segments) = json.get("transcription").and_then(Value::as_array) {
        return Some((Kind::WhisperCpp, segments));
    }
    if let Some(segments) = json.as_array() {
        let like_segments = segments.first()?.get("text").is_some();
        return like_segments.then_some((Kind::FasterWhisper, segments));
    }
    let segments = json.get("segments")?.as_array()?;
    let openai = json.get("text").is_some();
    Some((if openai { Kind::Whisper } else { Kind::FasterWhisper }, segments))
}

fn language(json: &Value) -> Option<String> {
    let places = ["/language", "/result/language", "/info/language"];
    let found = places.iter().find_map(|place| json.pointer(place)?.as_str())?;
    (!found.is_empty() && found.len() < 20).then(|| found.to_lowercase())
}

/// A segment with `start` and `end` in seconds, and perhaps `words`.
fn segment_in_seconds(segment: &Value) -> Option<Cue> {
    if is_silence(segment) {
        return None;
    }
    let said = spoken(segment.get("text")?.as_str()?);
    let words = words(segment);
    let plain: Vec<Line> =
        Some(said).filter(|s| !s.is_empty()).map(Line::plain).into_iter().collect();
    let lines = words.filter(|_| !plain.is_empty()).map_or(plain, |line| vec![line]);
    Some(Cue {
        start_ms: seconds(segment.get("start")?)?,
        end_ms: seconds(segment.get("end")?)?,
        lines,
    })
}

/// Whisper's own rule for text it made up over silence.
fn is_silence(segment: &Value) -> bool {
    let number = |name: &str| segment.get(name).and_then(Value::as_f64);
    number("no_speech_prob").is_some_and(|p| p > 0.6)
        && number("avg_logprob").is_some_and(|p| p < -1.0)
}

/// The words with their times, where all of them have one.
fn words(segment: &Value) -> Option<Line> {
    let mut line = Line::default();
    for word in segment.get("words")?.as_array()? {
        let said = spoken(word.get("word").or_else(|| word.get("text"))?.as_str()?);
        if said.is_empty() {
            continue;
        }
        if !line.text.is_empty() {
            line.text.push(' ');
        }
        line.words.push((seconds(word.get("start")?)?, line.text.len()));
        line.text.push_str(&said);
    }
    (!line.words.is_empty()).then_some(line)
}

/// Seconds as milliseconds; numbers, or numbers in quotes.
fn seconds(value: &Value) -> Option<u64> {
    let seconds = value.as_f64().or_else(|| value.as_str()?.trim().parse().ok())?;
    (seconds.is_finite() && (0.0..1e9).contains(&seconds))
        .then(|| (seconds * 1000.0).round() as u64)
}

/// A segment of whisper.cpp: `offsets` in milliseconds.
fn cpp_segment(segment: &Value) -> Option<Cue> {
    let offset = |name: &str| segment.get("offsets")?.get(name)?.as_u64();
    let stamp = |name: &str| super::cue::time(segment.get("timestamps")?.get(name)?.as_str()?);
    let at = |name: &str| offset(name).or_else(|| stamp(name));
    let said = spoken(segment.get("text")?.as_str()?);
    let lines = Some(said).filter(|s| !s.is_empty()).map(Line::plain).into_iter().collect();
    Some(Cue { start_ms: at("from")?, end_ms: at("to")?, lines })
}

/// Recognisers that lose the thread say one line again and again: keeps the first of four or more.
fn drop_loops(cues: &mut Vec<Cue>) -> usize {
    let before = cues.len();
    let mut kept: Vec<Cue> = Vec::with_capacity(before);
    for run in cues.chunk_by(|a, b| texts(a).eq(texts(b))) {
        kept.extend_from_slice(if run.len() >= 4 { &run[..1] } else { run });
    }
    *cues = kept;
    before - cues.len()
}

fn texts(cue: &Cue) -> impl Iterator<Item = &str> {
    cue.lines.iter().map(|line| line.text.as_str())
}

#[cfg(test)]
mod tests {
    use super::*;
    use serde_json::json;

    #[test]
    fn reads_every_shape() {
        let segment = json!({"start": 1.0, "end": 2.5, "text": " Chop it."});
        let cpp = json!({"result": {"language": "en"}, "transcription": [
            {"timestamps": {"from": "00:00:01,000", "to": "00:00:02,500"},
             "offsets": {"from": 1000, "to": 2500}, "text": " Chop it."}]});
        let cases = [
            (json!({"text": "Chop it.", "language": "en", "segments": [segment]}), Kind::Whisper),
            (json!({"segments": [segment], "info": {"language": "en"}}), Kind::FasterWhisper),
            (json!([segment]), Kind::FasterWhisper),
            (cpp, Kind::WhisperCpp),
        ];
        for (json, kind) in cases {
            let read = recognised(&json).unwrap();
            assert_eq!(read.kind, kind);
            assert_eq!(read.cues, [Cue::plain(1000, 2500, "Chop it.")]);
        }
        assert!(recognised(&json!({"steps": []})).is_none());
        assert!(recognised(&json!([1, 2])).is_none());
    }

    #[test]
    fn words_bring_their_times_and_nonsense_goes() {
        let json = json!({"segments": [
            {"start": 0, "end": 2, "text": " Chop it.", "words": [
                {"word": " Chop", "start": 0.1, "end": 0.5}, {"word": " it.", "start": 1.2, "end": 1.5}]},
            {"start": 3, "end": 4, "text": "Thanks for watching", "no_speech_prob": 0.9, "avg_logprob": -1.5},
            {"start": "NaN", "end": 4, "text": "lost"},
            {"start": -1.0, "end": 4, "text": "lost"}]});
        let read = recognised(&json).unwrap();
        assert_eq!(read.dropped, 3);
        assert_eq!(read.cues[0].lines[0].words, [(100, 0), (1200, 5)]);
    }

    #[test]
    fn a_stuck_recogniser_is_heard_once() {
        let again: Vec<Value> =
            (0..9).map(|i| json!({"start": i, "end": i + 1, "text": "Stir."})).collect();
        let read = recognised(&json!(again)).unwrap();
        assert_eq!((read.cues.len(), read.dropped), (1, 8));
    }
}
