//! The sound of the work itself, softly under the narration: knives tick, pans hiss, saws stroke.

use crate::random::{SplitMix64, stream};
use crate::script::Script;
use crate::vocabulary::{Scene, Verb};

/// The loudest sample; chosen by hand to stay well below the voice's 22,000.
const PEAK: f32 = 1_100.0;

/// What a piece of work sounds like; rates are per second.
#[derive(Clone, Copy, Debug, PartialEq)]
enum Envelope {
    /// Short decays: chopping, hammering.
    Knocks(f32),
    /// To and fro: sawing, sanding, whisking.
    Strokes(f32),
    /// Constant: frying, water.
    Hiss,
}

fn envelope_of(verb: Verb) -> Option<Envelope> {
    use Verb::*;
    match verb {
        Chop | Slice | Shred => Some(Envelope::Knocks(3.0)),
        Nail => Some(Envelope::Knocks(2.0)),
        Mash | Dig | MixIn | Prune => Some(Envelope::Knocks(1.2)),
        Saw | Grate => Some(Envelope::Strokes(1.6)),
        Sand | Whisk | Toss => Some(Envelope::Strokes(2.2)),
        Paint | Varnish | Spread => Some(Envelope::Strokes(0.9)),
        Fry | Simmer | Warm | Melt | Wash | Water | Drill => Some(Envelope::Hiss),
        _ => None,
    }
}

/// Adds the sound of every step to a track of `rate` samples a second.
pub fn add_work(script: &Script, rate: u32, track: &mut [i16]) {
    let mut random = stream(script.place_seed, "foley");
    for shot in &script.shots {
        let Scene::Step(action) = &shot.scene else { continue };
        let Some(envelope) = envelope_of(action.verb) else { continue };
        let at = |ms: u64| (ms * u64::from(rate) / 1000) as usize;
        if let Some(stretch) = track.get_mut(at(shot.start_ms)..at(shot.end_ms)) {
            add(envelope, rate, &mut random, stretch);
        }
    }
}

/// Adds low-passed noise, shaped by the envelope and faded at both ends of the stretch.
fn add(envelope: Envelope, rate: u32, random: &mut SplitMix64, stretch: &mut [i16]) {
    let length = stretch.len() as f32 / rate as f32;
    let mut low = 0.0;
    for (index, sample) in stretch.iter_mut().enumerate() {
        let seconds = index as f32 / rate as f32;
        let noise = (random.next_u64() >> 40) as f32 / (1 << 23) as f32 - 1.0;
        low += (noise - low) * 0.35;
        let fade = (seconds.min(length - seconds) / 0.4).clamp(0.0, 1.0);
        let work = low * PEAK * fade * envelope.at(seconds);
        *sample = sample.saturating_add(work as i16);
    }
}

impl Envelope {
    /// From 0 to 1.
    fn at(self, seconds: f32) -> f32 {
        match self {
            Self::Knocks(rate) => (1.0 - (seconds * rate).fract() * 9.0).max(0.0).powi(2),
            Self::Strokes(rate) => (seconds * rate * std::f32::consts::PI).sin().abs() * 0.7,
            Self::Hiss => 0.4,
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::catalogue::TaskSet;

    #[test]
    fn work_is_heard_but_never_over_the_voice() {
        let script = Script::new(TaskSet::Demonstration, 1, 0);
        let mut track = vec![0; script.duration_ms() as usize * 8];
        add_work(&script, 8_000, &mut track);
        let loudest = track.iter().map(|sample| sample.unsigned_abs()).max().unwrap_or(0);
        assert!((50..=PEAK as u16).contains(&loudest), "{loudest}");
        let title = script.shots[0].end_ms as usize * 8;
        assert!(track[..title].iter().all(|&sample| sample == 0));
    }
}
