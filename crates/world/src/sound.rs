//! The sound track of a video: its narration over the sound of the work.

use stitch_engine::media::MediaError;
use stitch_engine::media::encode::Pcm;
use stitch_engine::media::speech::speak_within;
use stitch_engine::progress::Progress;

use crate::foley::add_work;
use crate::script::Script;

/// Samples a second, espeak-ng's rate.
const RATE: u32 = 22_050;
/// The loudest sample of every track's speech; chosen by hand.
const PEAK: f32 = 22_000.0;

pub fn track(script: &Script, progress: &dyn Progress) -> Result<Pcm, MediaError> {
    let mut voice = script.voice.clone();
    let mut samples = vec![0; at(script.duration_ms())];
    for line in &script.lines {
        progress.check()?;
        let most = line.end_ms - line.start_ms;
        let spoken = match speak_within(&line.text, &voice, most) {
            Err(error @ MediaError::Failed { .. }) if voice.name != "en" => {
                progress.warn(&format!("{}: {error}; going on with a plain voice", script.name));
                voice.name = "en".to_owned();
                speak_within(&line.text, &voice, most)?
            }
            spoken => spoken?,
        };
        copy_resampled(&mut samples, at(line.start_ms), &spoken);
    }
    normalise(&mut samples);
    add_work(script, RATE, &mut samples);
    Ok(Pcm { rate: RATE, samples })
}

/// No sound, as long as the video.
pub fn silence(script: &Script) -> Pcm {
    Pcm { rate: RATE, samples: vec![0; at(script.duration_ms())] }
}

/// The number of the sample at a time.
fn at(ms: u64) -> usize {
    (ms * u64::from(RATE) / 1000) as usize
}

/// Copies speech into the track at `start`, resampled to the track's rate by nearest neighbour.
fn copy_resampled(track: &mut [i16], start: usize, spoken: &Pcm) {
    let Some(room) = track.get_mut(start..) else { return };
    let count = spoken.samples.len() as u64 * u64::from(RATE) / u64::from(spoken.rate.max(1));
    for (index, sample) in room.iter_mut().take(count as usize).enumerate() {
        let source = index as u64 * u64::from(spoken.rate) / u64::from(RATE);
        *sample = spoken.samples.get(source as usize).copied().unwrap_or(0);
    }
}

/// Peak normalisation: voices differ in loudness.
fn normalise(samples: &mut [i16]) {
    let peak = samples.iter().map(|sample| sample.unsigned_abs()).max().unwrap_or(0);
    if peak > 0 {
        let gain = PEAK / f32::from(peak);
        samples.iter_mut().for_each(|sample| *sample = (f32::from(*sample) * gain) as i16);
    }
}
