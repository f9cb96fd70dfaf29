//! The videos of a library as a test set: procedures mixed from them, and whole videos.

use std::collections::{BTreeSet, HashMap};

use stitch_core::clip::{Clip, Span, VideoId};
use stitch_core::pool::Pool;
use stitch_engine::encoder::Encoder;
use stitch_engine::library::{Library, LibraryError, VideoRecord};
use stitch_engine::progress::Progress;
use stitch_engine::sentence::SentenceEncoder;
use stitch_engine::transcript::Sentence;

use super::plain::load::encode_narration;
use super::plain::set::{PlainStep, VideoSteps};
use super::test_set::TestSet;
use crate::collection::{Collection, ExampleCounts};
use crate::dataset::{DatasetError, Example};

/// The library with these procedures, and how many of them could be used.
pub fn of_library(
    library: &Library,
    encoder: &dyn Encoder,
    sentence: &SentenceEncoder,
    examples: &[Example],
    progress: &dyn Progress,
) -> Result<(TestSet, ExampleCounts), DatasetError> {
    let (collection, counts) =
        Collection::of_library(library, encoder, sentence, examples, progress)?;
    let texts = narration(library, &collection.pool)?;
    progress.begin("encoding narration", texts.len() as u64);
    let narration = encode_narration(texts, sentence, progress)?;
    let set = TestSet::new("library", collection, narration, encoder.id().clone())?;
    Ok((set, counts))
}

/// Gives clips the labels of a list of their videos, in which steps of different words may have one label.
/// Returns how many clips got one.
pub fn label(collection: &mut Collection, records: &[VideoRecord], list: &[VideoSteps]) -> usize {
    let listed: HashMap<&str, &VideoSteps> =
        list.iter().map(|video| (video.id.as_str(), video)).collect();
    let find = |record: &VideoRecord| {
        let name = record.path.file_stem()?.to_string_lossy();
        Some((VideoId(record.id), *listed.get(name.as_ref())?))
    };
    let videos: HashMap<VideoId, &VideoSteps> = records.iter().filter_map(find).collect();
    let Collection { pool, labels, .. } = collection;
    let mut labelled = 0;
    for (clip, label) in pool.clips().iter().zip(labels) {
        let listed = videos.get(&clip.video).and_then(|video| label_of(clip, video));
        if let Some(listed) = listed {
            listed.clone_into(label);
            labelled += 1;
        }
    }
    labelled
}

/// The label of the step that a clip shares most time with.
fn label_of<'a>(clip: &Clip, video: &'a VideoSteps) -> Option<&'a str> {
    let shared = |step: &PlainStep| {
        let span = step.span?;
        let (start, end) = (span.start().max(clip.span.start()), span.end().min(clip.span.end()));
        (start < end).then(|| end - start)
    };
    let shared = video.steps.iter().filter_map(|step| Some((shared(step)?, step)));
    shared.max_by_key(|(shared, _)| *shared)?.1.label.as_deref()
}

fn narration(library: &Library, pool: &Pool) -> Result<Vec<String>, LibraryError> {
    let videos: BTreeSet<VideoId> = pool.clips().iter().map(|clip| clip.video).collect();
    let sentences: Result<HashMap<VideoId, Vec<Sentence>>, LibraryError> =
        videos.into_iter().map(|video| Ok((video, library.sentences(video)?))).collect();
    let sentences = sentences?;
    Ok(pool.clips().iter().map(|clip| within(&sentences[&clip.video], clip.span)).collect())
}

fn within(sentences: &[Sentence], span: Span) -> String {
    let during = |sentence: &&Sentence| {
        Span::new(sentence.start_ms, sentence.end_ms).is_some_and(|spoken| spoken.overlaps(span))
    };
    let spoken = sentences.iter().filter(during).map(|sentence| sentence.text.trim());
    spoken.collect::<Vec<_>>().join(" ")
}

#[cfg(test)]
mod tests {
    use std::path::PathBuf;

    use super::*;
    use crate::suite::fixture::{Made, collection};

    #[test]
    fn clips_take_the_label_of_the_listed_step_they_share_most_time_with() {
        // Two videos of three clips, a second each less a tenth.
        let mut made = collection(&Made { tasks: 1, videos: 2, steps: 2, seed: 1 });
        let record = |id: u32, path: &str| VideoRecord {
            id,
            path: PathBuf::from(path),
            content: String::new(),
            status: stitch_engine::library::VideoStatus::Ready,
            video: <_>::default(),
            narration_by: None,
            steps_by: None,
            clips: 2,
        };
        let step = |start, end, label: Option<&str>| PlainStep {
            span: Span::new(start, end),
            label: label.map(str::to_owned),
            ..<_>::default()
        };
        let steps = vec![
            step(0, 500, Some("cut")),
            step(500, 1100, Some("fry")),
            PlainStep { label: Some("any time".into()), ..<_>::default() },
            step(1100, 1900, None),
        ];
        let list = [
            VideoSteps { id: "soup".into(), steps, ..<_>::default() },
            VideoSteps { id: "elsewhere".into(), steps: Vec::new(), ..<_>::default() },
        ];
        let records = [record(0, "a/soup.npy"), record(1, "a/stew.mp4")];
        let before = made.labels.clone();
        assert_eq!(label(&mut made, &records, &list), 1);
        // 500 ms of the first clip are listed as cut, 400 as fry; most of the second has no name.
        assert_eq!(made.labels[0], "cut");
        assert_eq!(made.labels[1..], before[1..]);
        assert_eq!(label(&mut made, &records[1..], &list), 0);
    }
}
