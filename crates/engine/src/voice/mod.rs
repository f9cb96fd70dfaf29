//! A narrator who reads the steps, and the clips fitted to what is said.

mod speaker;
mod words;
mod narrator;

pub use narrator::{Narrator, Speech};
pub use speaker::Speaker;

use std::path::PathBuf;

use stitch_core::clip::VideoId;
use stitch_core::fit::{Fit, Footage, MAX_LOOPS, fit};
use stitch_core::format::count;
use stitch_core::timeline::Room;

use crate::demonstrate::{Choice, Demonstration, Interval, SpokenStep, Voiceover};
use crate::files::FileError;
use crate::library::{Library, LibraryError};
use crate::listen::ListenError;
use crate::media::MediaError;
use crate::progress::{Progress, Stopped};
use crate::render::LEAD_MS;
use crate::summarise::chat::ChatError;
use crate::transcript::Sentence;

/// How long a step is shown after the narrator has spoken.
const TAIL_MS: u64 = 300;

#[derive(Debug, thiserror::Error)]
pub enum VoiceError {
    #[error(
        "a recording is aligned by the speech model, which is not there; get it with `stitch models pull \
        whisper-base`"
    )]
    NoListener,
    #[error("none of the steps is said in {}; record the steps as they are written", path.display())]
    NothingSaid { path: PathBuf },
    #[error("{address} answered with something that is no sound; check its address and the voice")]
    NoSound { address: String },
    #[error(transparent)]
    Endpoint(#[from] ChatError),
    #[error(transparent)]
    Listen(#[from] ListenError),
    #[error(transparent)]
    Media(#[from] MediaError),
    #[error(transparent)]
    File(#[from] FileError),
    #[error(transparent)]
    Library(#[from] LibraryError),
    #[error(transparent)]
    Stopped(#[from] Stopped),
}

/// Lets the narrator read every step that is shown and fits the clips to it; returns the sound of each step.
/// `rooms` says by number what a video has to give, `overlap_ms` is the length of a crossfade.
pub fn narrate(
    demonstration: &mut Demonstration,
    narrator: &Narrator,
    rooms: &dyn Fn(u32) -> Result<Room, LibraryError>,
    overlap_ms: u64,
    progress: &dyn Progress,
) -> Result<Vec<Option<PathBuf>>, VoiceError> {
    let texts: Vec<Option<String>> = demonstration
        .steps
        .iter()
        .map(|step| step.chosen.as_ref().map(|_| step.text.trim().to_owned()))
        .collect();
    let speeches = narrator.speak(&texts, progress)?;
    let mut steps = Vec::new();
    for (step, speech) in speeches.iter().enumerate() {
        let spoken = match speech {
            Some(speech) => {
                let needed_ms = LEAD_MS + speech.length_ms + TAIL_MS;
                Some(fit_step(demonstration, step, speech, (needed_ms, overlap_ms), rooms)?)
            }
            None => None,
        };
        if let Some(loops) = spoken.as_ref().map(|spoken| spoken.loops).filter(|n| *n > MAX_LOOPS) {
            progress.warn(&format!(
                "step {}: its clips are played {} times to last as long as its sentence; shorten the \
                 step's text or split it",
                step + 1,
                loops + 1
            ));
        }
        steps.push(spoken);
    }
    demonstration.voiceover = Some(Voiceover { voice: narrator.speaker.name(), steps });
    Ok(speeches.into_iter().map(|speech| speech.map(|speech| speech.sound)).collect())
}

/// Changes the cuts and speeds of a step's clips so that they last as long as needed.
fn fit_step(
    demonstration: &mut Demonstration,
    step: usize,
    speech: &Speech,
    (needed_ms, overlap_ms): (u64, u64),
    rooms: &dyn Fn(u32) -> Result<Room, LibraryError>,
) -> Result<SpokenStep, VoiceError> {
    let mut clips = Vec::new();
    for choice in demonstration.steps[step].clips() {
        let room_ms = room_after(choice, &rooms(choice.source.video)?, demonstration);
        let footage =
            Footage { length_ms: choice.cut.length_ms(), room_ms, speed: choice.speed.max(1.0) };
        clips.push((choice.clip, footage));
    }
    let footage: Vec<Footage> = clips.iter().map(|(_, footage)| *footage).collect();
    let Fit { added_ms, speed, loops } = fit(&footage, needed_ms, overlap_ms);
    let step = &mut demonstration.steps[step];
    let further = step.parts.iter_mut().filter_map(|part| part.clip.as_mut());
    for choice in step.chosen.iter_mut().chain(further) {
        let own = clips.iter().position(|(clip, _)| *clip == choice.clip);
        choice.cut.end_ms += own.map_or(0, |own| added_ms[own]);
        choice.speed = speed.unwrap_or(choice.speed);
    }
    let shifted = |word: &Sentence| Sentence {
        start_ms: word.start_ms + LEAD_MS,
        end_ms: word.end_ms + LEAD_MS,
        text: word.text.clone(),
    };
    let words = speech.words.iter().map(shifted).collect();
    Ok(SpokenStep { words, added_ms: added_ms.iter().sum(), loops })
}

/// What a video of the library has to give: its clips are taken for shots, so that none is lengthened into
/// the next.
pub fn room(library: &Library, video: u32) -> Result<Room, LibraryError> {
    let length_ms = library.video(VideoId(video))?.video.length_ms;
    Ok(Room { length_ms, shots: library.boundaries(VideoId(video))?, ..Room::default() })
}

/// How much of its shot follows a cut that is shown nowhere else.
fn room_after(choice: &Choice, room: &Room, demonstration: &Demonstration) -> u64 {
    let Interval { end_ms, .. } = choice.cut;
    let video = choice.source.video;
    let others = demonstration.cuts().filter(|(_, other)| other.source.video == video);
    let starts = others.map(|(_, other)| other.cut.start_ms).chain(room.shots.iter().copied());
    let next = starts.filter(|start| *start >= end_ms).min().unwrap_or(u64::MAX);
    next.min(room.length_ms).saturating_sub(end_ms)
}

/// What was done to the clips, for a user.
pub fn summary(voiceover: &Voiceover) -> String {
    let spoken = || voiceover.steps.iter().flatten();
    let lengthened = spoken().filter(|step| step.added_ms > 0).count();
    let looped = spoken().filter(|step| step.loops > 0).count();
    format!(
        "{} spoken by {}; {} lengthened, {looped} repeated",
        count(spoken().count(), "step"),
        voiceover.voice,
        lengthened
    )
}
