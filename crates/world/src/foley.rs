//! The sound of the work itself, softly under the narration: knives tick, pans hiss, saws stroke.

use super::dice::Dice;
use super::script::Script;
use super::vocabulary::{Scene, Verb};

/// How loud the work is beside a voice of full scale.
const LOUDNESS: f32 = 1_100.0;

/// What a piece of work sounds like.
#[derive(Clone, Copy, Debug, PartialEq)]
enum Sound {
    /// Short knocks, so many a second: chopping, hammering.
    Knocks(f32),
    /// Strokes to and fro, so many a second: sawing, sanding, whisking.
    Strokes(f32),
    /// One long hiss: frying, water.
    Hiss,
}

fn sound_of(verb: Verb) -> Option<Sound> {
    use Verb::*;
    match verb {
        Chop | Slice | Shred => Some(Sound::Knocks(3.0)),
        Nail => Some(Sound::Knocks(2.0)),
        Mash | Dig | MixIn | Prune => Some(Sound::Knocks(1.2)),
        Saw | Grate => Some(Sound::Strokes(1.6)),
        Sand | Whisk | Toss => Some(Sound::Strokes(2.2)),
        Paint | Varnish | Spread => Some(Sound::Strokes(0.9)),
        Fry | Simmer | Warm | Melt | Wash | Water | Drill => Some(Sound::Hiss),
        _ => None,
    }
}

/// Adds the sound of every step to a track of `rate` samples a second.
pub fn add_work(script: &Script, rate: u32, track: &mut [i16]) {
    let mut dice = Dice::new(script.place_seed, "foley");
    for shot in &script.shots {
        let Scene::Step(action) = &shot.scene else { continue };
        let Some(sound) = sound_of(action.verb) else { continue };
        let at = |ms: u64| (ms * u64::from(rate) / 1000) as usize;
        if let Some(stretch) = track.get_mut(at(shot.start_ms)..at(shot.end_ms)) {
            add(sound, rate, &mut dice, stretch);
        }
    }
}

/// Noise, made dull, shaped by the sound's envelope, and faded at both ends of the stretch.
fn add(sound: Sound, rate: u32, dice: &mut Dice, stretch: &mut [i16]) {
    let length = stretch.len() as f32 / rate as f32;
    let mut dull = 0.0;
    for (index, sample) in stretch.iter_mut().enumerate() {
        let seconds = index as f32 / rate as f32;
        let noise = (dice.roll() >> 40) as f32 / (1 << 23) as f32 - 1.0;
        dull += (noise - dull) * 0.35;
        let fade = (seconds.min(length - seconds) / 0.4).clamp(0.0, 1.0);
        let work = dull * LOUDNESS * fade * envelope(sound, seconds);
        *sample = sample.saturating_add(work as i16);
    }
}

/// How loud the sound is at a time, from 0 to 1.
fn envelope(sound: Sound, seconds: f32) -> f32 {
    match sound {
        Sound::Knocks(per_second) => (1.0 - (seconds * per_second).fract() * 9.0).max(0.0).powi(2),
        Sound::Strokes(per_second) => {
            (seconds * per_second * std::f32::consts::PI).sin().abs() * 0.7
        }
        Sound::Hiss => 0.4,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn work_is_heard_but_never_over_the_voice() {
        let script = Script::new(1, 0);
        let mut track = vec![0; script.duration_ms() as usize * 8];
        add_work(&script, 8_000, &mut track);
        let loudest = track.iter().map(|sample| sample.unsigned_abs()).max().unwrap_or(0);
        assert!((50..=LOUDNESS as u16).contains(&loudest), "{loudest}");
        let title = script.shots[0].end_ms as usize * 8;
        assert!(track[..title].iter().all(|&sample| sample == 0));
    }
}
