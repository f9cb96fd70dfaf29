//! The JSON of speech recognisers: openai-whisper and WhisperX, whisper.cpp, faster-whisper.

use serde_json::Value;

use super::SubtitleFormat;
use super::caption::{Caption, Line, Parsed, time};
use super::text::spoken;

pub const FORMAT: SubtitleFormat = SubtitleFormat {
    name: "the JSON of a Whisper program",
    extensions: &["json"],
    is_automatic: true,
    read: |text| captions(&serde_json::from_str(text).ok()?),
};

/// The segments in the JSON and how many were left out: without readable times, of no speech, or
/// repeated over and over. None if it has no such shape.
fn captions(json: &Value) -> Option<Parsed> {
    let (segments, read) = segments(json)?;
    let mut captions: Vec<Caption> = segments.iter().filter_map(read).collect();
    drop_loops(&mut captions);
    let dropped = segments.len() - captions.len();
    captions.retain(|caption| !caption.lines.is_empty());
    Some((captions, dropped))
}

type ReadSegment = fn(&Value) -> Option<Caption>;

/// The segments of whichever program's JSON it is.
fn segments(json: &Value) -> Option<(&Vec<Value>, ReadSegment)> {
    if let Some(segments) = json.get("transcription").and_then(Value::as_array) {
        return Some((segments, cpp_segment));
    }
    let segments = match json.as_array() {
        Some(segments) => segments.first()?.get("text").map(|_| segments)?,
        None => json.get("segments")?.as_array()?,
    };
    Some((segments, segment_in_seconds))
}

/// A segment with `start` and `end` in seconds, and perhaps `words`.
fn segment_in_seconds(segment: &Value) -> Option<Caption> {
    if is_silence(segment) {
        return None;
    }
    let said = spoken(segment.get("text")?.as_str()?);
    let line = (!said.is_empty()).then(|| words(segment).unwrap_or_else(|| Line::plain(said)));
    Some(Caption {
        start_ms: seconds(segment.get("start")?)?,
        end_ms: seconds(segment.get("end")?)?,
        lines: line.into_iter().collect(),
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
fn cpp_segment(segment: &Value) -> Option<Caption> {
    let offset = |name: &str| segment.get("offsets")?.get(name)?.as_u64();
    let stamp = |name: &str| time(segment.get("timestamps")?.get(name)?.as_str()?);
    let at = |name: &str| offset(name).or_else(|| stamp(name));
    let said = spoken(segment.get("text")?.as_str()?);
    let lines = Some(said).filter(|s| !s.is_empty()).map(Line::plain).into_iter().collect();
    Some(Caption { start_ms: at("from")?, end_ms: at("to")?, lines })
}

/// Of four or more equal segments in a row, as a recogniser in a loop writes them, keeps the first.
fn drop_loops(captions: &mut Vec<Caption>) {
    let texts = |caption: &Caption| -> Vec<String> {
        caption.lines.iter().map(|line| line.text.clone()).collect()
    };
    let runs = captions.chunk_by(|a, b| texts(a) == texts(b));
    let kept = runs.flat_map(|run| if run.len() >= 4 { &run[..1] } else { run });
    *captions = kept.cloned().collect();
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
            json!({"text": "Chop it.", "language": "en", "segments": [segment]}),
            json!({"segments": [segment], "info": {"language": "en"}}),
            json!([segment]),
            cpp,
        ];
        for json in cases {
            assert_eq!(captions(&json).unwrap().0, [Caption::plain(1000, 2500, "Chop it.")]);
        }
        assert!(captions(&json!({"steps": []})).is_none());
        assert!(captions(&json!([1, 2])).is_none());
    }

    #[test]
    fn words_bring_their_times_and_nonsense_goes() {
        let json = json!({"segments": [
            {"start": 0, "end": 2, "text": " Chop it.", "words": [
                {"word": " Chop", "start": 0.1, "end": 0.5}, {"word": " it.", "start": 1.2, "end": 1.5}]},
            {"start": 3, "end": 4, "text": "Thanks for watching", "no_speech_prob": 0.9, "avg_logprob": -1.5},
            {"start": "NaN", "end": 4, "text": "lost"},
            {"start": -1.0, "end": 4, "text": "lost"}]});
        let (read, dropped) = captions(&json).unwrap();
        assert_eq!(dropped, 3);
        assert_eq!(read[0].lines[0].words, [(100, 0), (1200, 5)]);
    }

    #[test]
    fn a_stuck_recogniser_is_heard_once() {
        let again: Vec<Value> =
            (0..9).map(|i| json!({"start": i, "end": i + 1, "text": "Stir."})).collect();
        let (read, dropped) = captions(&json!(again)).unwrap();
        assert_eq!((read.len(), dropped), (1, 8));
    }
}
