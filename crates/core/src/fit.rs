//! Footage fitted to a sentence that is spoken over it.
//!
//! A step whose clips are shorter than its sentence first shows more of the shot, then plays slower, then
//! plays again.

/// The least speed of a clip that is slowed.
pub const MIN_SPEED: f64 = 0.7;
/// More repetitions than this are worth a warning.
pub const MAX_LOOPS: u32 = 2;

/// One of the clips of a step.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Footage {
    pub length_ms: u64,
    /// How much of the same shot follows that nothing else shows.
    pub room_ms: u64,
    /// Playback speed, at least 1.
    pub speed: f64,
}

/// What is done to the clips of a step.
#[derive(Clone, Debug, PartialEq)]
pub struct Fit {
    /// Footage added at the end of each clip.
    pub added_ms: Vec<u64>,
    /// The speed of all of them; none keeps their own.
    pub speed: Option<f64>,
    /// How often all of them are played again.
    pub loops: u32,
}

/// The clips lengthened, slowed to at least [`MIN_SPEED`] and repeated, each only as far as what comes before
/// it is not enough, so that they last `needed_ms`. Each loses `overlap_ms` to a crossfade.
pub fn fit(clips: &[Footage], needed_ms: u64, overlap_ms: u64) -> Fit {
    let mut footage_ms = clips.iter().map(|clip| clip.length_ms).sum::<u64>();
    let played_ms: f64 = clips.iter().map(|clip| clip.length_ms as f64 / clip.speed).sum();
    // a fade takes at most a third of a clip
    let lost_ms = (overlap_ms * clips.len() as u64).min(footage_ms / 3) as f64;
    let pass_ms = |plays: u32| needed_ms as f64 / f64::from(plays) + lost_ms;
    let mut fit = Fit { added_ms: vec![0; clips.len()], speed: None, loops: 0 };
    if played_ms >= pass_ms(1) || footage_ms == 0 {
        return fit;
    }
    for (added_ms, clip) in fit.added_ms.iter_mut().zip(clips) {
        *added_ms = (pass_ms(1).ceil() as u64).saturating_sub(footage_ms).min(clip.room_ms);
        footage_ms += *added_ms;
    }
    let footage_ms = footage_ms as f64;
    let mut plays = 1;
    while footage_ms < MIN_SPEED * pass_ms(plays) {
        plays += 1;
    }
    fit.loops = plays - 1;
    let speed = footage_ms / pass_ms(plays);
    // clips that were sped up may stay faster than filmed, repeated ones need not be
    fit.speed = Some(if fit.loops > 0 { speed.min(1.0) } else { speed });
    fit
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    fn clip(length_ms: u64, room_ms: u64) -> Footage {
        Footage { length_ms, room_ms, speed: 1.0 }
    }

    /// How long the fitted clips are played.
    fn played(clips: &[Footage], fit: &Fit, overlap_ms: u64) -> f64 {
        let length = |(clip, added): (&Footage, &u64)| {
            (clip.length_ms + added) as f64 / fit.speed.unwrap_or(clip.speed)
        };
        let once: f64 = clips.iter().zip(&fit.added_ms).map(length).sum();
        f64::from(fit.loops + 1) * (once - (overlap_ms * clips.len() as u64) as f64)
    }

    #[test]
    fn each_means_is_used_only_after_the_one_before() {
        let check = |clips: &[Footage], needed_ms, added: &[u64], speed: Option<f64>, loops| {
            let expected = Fit { added_ms: added.to_vec(), speed, loops };
            assert_eq!(fit(clips, needed_ms, 0), expected);
        };
        check(&[clip(5000, 900)], 4000, &[0], None, 0);
        check(&[clip(3000, 9000)], 4000, &[1000], Some(1.0), 0);
        check(&[clip(3000, 500)], 4375, &[500], Some(0.8), 0);
        check(&[clip(3000, 0)], 6000, &[0], Some(1.0), 1);
        check(&[clip(2000, 0)], 4200, &[0], Some(2000.0 / 2100.0), 1);
        check(&[clip(1000, 200), clip(1000, 9000)], 3000, &[200, 800], Some(1.0), 0);
        check(&[Footage { speed: 2.0, ..clip(6000, 0) }], 4000, &[0], Some(1.5), 0);
        check(&[], 4000, &[], None, 0);
    }

    proptest! {
        #[test]
        fn the_sentence_fits_and_no_clip_is_slower_than_allowed(
            clips in prop::collection::vec((300u64..9000, 0u64..4000, 1.0f64..3.0), 1..4),
            needed_ms in 0u64..40_000,
            overlap_ms in 0u64..100,
        ) {
            let clips: Vec<Footage> = clips.into_iter()
                .map(|(length_ms, room_ms, speed)| Footage { length_ms, room_ms, speed }).collect();
            let fit = fit(&clips, needed_ms, overlap_ms);
            prop_assert!(played(&clips, &fit, overlap_ms) >= needed_ms as f64 - 1e-6);
            prop_assert!(fit.speed.is_none_or(|speed| (MIN_SPEED - 1e-9..=3.0).contains(&speed)));
            for (clip, added) in clips.iter().zip(&fit.added_ms) {
                prop_assert!(*added <= clip.room_ms);
            }
            let whole = |clip: &Footage| clip.length_ms + clip.room_ms;
            let footage: u64 = clips.iter().map(whole).sum();
            let slowest = |loops: u32| f64::from(loops + 1)
                * (footage as f64 / MIN_SPEED - (overlap_ms * clips.len() as u64) as f64);
            // Fewer repetitions of all the footage at the least speed would not be enough.
            prop_assert!(fit.loops == 0 || slowest(fit.loops - 1) < needed_ms as f64 + 1e-6);
        }

        #[test]
        fn nothing_is_longer_than_needed_unless_it_was(
            length_ms in 500u64..9000, room_ms in 0u64..4000, needed_ms in 1u64..40_000,
        ) {
            let clips = [clip(length_ms, room_ms)];
            let fit = fit(&clips, needed_ms, 0);
            let played = played(&clips, &fit, 0);
            prop_assert!(played <= (needed_ms + 1).max(length_ms * u64::from(fit.loops + 1)) as f64 + 1e-6
                || fit.loops > 0 && fit.speed == Some(1.0));
        }
    }
}
