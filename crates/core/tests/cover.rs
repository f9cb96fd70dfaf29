//! Candidate sequences: the exact K best are those of an enumeration, greedy covers are valid,
//! complete, distinct and sorted.

use proptest::prelude::*;
use std::collections::HashSet;
use stitch_core::belief::Evidence;
use stitch_core::clip::{Clip, ClipId, Span, VideoId};
use stitch_core::cover::{KBestOptions, Sequence, greedy, k_best, source_changes};
use stitch_core::features::Features;
use stitch_core::map::{Match, StepMap};
use stitch_core::pool::Pool;

const COSTS: KBestOptions = KBestOptions { switch_cost: 0.1, order_cost: 0.1 };

/// A pool of clips given as (video, start in seconds), without features.
fn pool(clips: &[(u32, u64)]) -> Pool {
    let clip = |(video, start): &(u32, u64)| Clip {
        video: VideoId(*video),
        span: Span::new(start * 1000, start * 1000 + 900).unwrap(),
        text: String::new(),
    };
    let features = Features::new(1, vec![1.0; clips.len()]).unwrap();
    Pool::new(clips.iter().map(clip).collect(), features.clone(), features).unwrap()
}

/// A map of (clip, similarity in eighths) for each step.
fn step_map(steps: &[Vec<(u32, i32)>]) -> StepMap {
    let a_match = |(clip, eighths): &(u32, i32)| {
        let log_prob = *eighths as f32 / 8.0;
        Match { clip: ClipId(*clip), evidence: Evidence::default(), log_prob }
    };
    let mut steps: Vec<Vec<Match>> =
        steps.iter().map(|step| step.iter().map(a_match).collect()).collect();
    for step in &mut steps {
        step.sort_by(|a, b| b.log_prob.total_cmp(&a.log_prob).then(a.clip.cmp(&b.clip)));
    }
    StepMap { steps }
}

/// Up to 4 steps over up to 8 clips of up to 3 videos; some steps are gaps.
fn small_case() -> impl Strategy<Value = (Pool, StepMap)> {
    let clips = prop::collection::vec((0u32..3, 0u64..5), 1..9);
    clips.prop_flat_map(|clips| {
        let ids: Vec<u32> = (0..clips.len() as u32).collect();
        let matches = prop::sample::subsequence(ids.clone(), 0..=ids.len().min(4));
        let step = matches.prop_flat_map(|ids| {
            let similarity = prop::collection::vec(0i32..9, ids.len());
            similarity.prop_map(move |s| ids.iter().copied().zip(s).collect::<Vec<_>>())
        });
        let steps = prop::collection::vec(step, 1..5);
        steps.prop_map(move |steps| (pool(&clips), step_map(&steps)))
    })
}

/// Every sequence that shows every step that can be shown.
fn every_sequence(map: &StepMap) -> Vec<Sequence> {
    let mut all = vec![Vec::new()];
    for step in &map.steps {
        let choices: Vec<Option<ClipId>> = match step.is_empty() {
            true => vec![None],
            false => step.iter().map(|found| Some(found.clip)).collect(),
        };
        all = all
            .iter()
            .flat_map(|start: &Vec<Option<ClipId>>| {
                choices.iter().map(move |choice| [start.as_slice(), &[*choice]].concat())
            })
            .collect();
    }
    all.into_iter().map(Sequence).collect()
}

fn similarity_of(map: &StepMap, step: usize, clip: ClipId) -> f64 {
    f64::from(map.steps[step].iter().find(|found| found.clip == clip).unwrap().log_prob)
}

fn similarity(map: &StepMap, sequence: &Sequence) -> f64 {
    let shown = sequence.0.iter().enumerate();
    shown.filter_map(|(step, clip)| clip.map(|clip| similarity_of(map, step, clip))).sum()
}

fn backward_steps(sequence: &Sequence, pool: &Pool) -> usize {
    let clips: Vec<&Clip> = sequence.0.iter().flatten().map(|clip| pool.clip(*clip)).collect();
    let back = |pair: &&[&Clip]| {
        pair[0].video == pair[1].video && pair[1].span.start() < pair[0].span.start()
    };
    clips.windows(2).filter(back).count()
}

proptest! {
    #[test]
    fn k_best_is_the_top_of_an_enumeration(
        (pool, map) in small_case(), k in 0usize..300, switch in -4i32..12, order in -4i32..12
    ) {
        let options =
            KBestOptions { switch_cost: switch as f64 / 8.0, order_cost: order as f64 / 8.0 };
        let score = |sequence: &Sequence| {
            similarity(&map, sequence)
                - options.switch_cost * source_changes(sequence, &pool) as f64
                - options.order_cost * backward_steps(sequence, &pool) as f64
        };
        let mut all: Vec<(f64, Sequence)> =
            every_sequence(&map).into_iter().map(|s| (score(&s), s)).collect();
        all.sort_by(|a, b| b.0.total_cmp(&a.0).then(a.1.cmp(&b.1)));
        all.truncate(k);
        let found: Vec<(f64, Sequence)> = k_best(&map, &pool, k, &options)
            .into_iter().map(|s| (score(&s), s)).collect();
        prop_assert_eq!(found, all);
    }

    #[test]
    fn greedy_covers_are_whole_distinct_sorted_and_start_with_the_fewest_changes(
        (pool, map) in small_case(), most in 1usize..40
    ) {
        let found = greedy(&map, &pool, most, &COSTS);
        let all = every_sequence(&map);
        prop_assert_eq!(found.len(), most.min(all.len()));
        let valid: HashSet<&Sequence> = all.iter().collect();
        prop_assert!(found.iter().all(|sequence| valid.contains(sequence)));
        prop_assert_eq!(found.iter().collect::<HashSet<_>>().len(), found.len());
        let key = |s: &Sequence| (source_changes(s, &pool), -(similarity(&map, s) * 8.0) as i64);
        prop_assert!(found.is_sorted_by_key(key));
        let fewest = all.iter().map(|s| source_changes(s, &pool)).min().unwrap();
        prop_assert_eq!(source_changes(&found[0], &pool), fewest);
    }

    #[test]
    fn every_video_that_shows_all_is_among_the_covers((pool, map) in small_case()) {
        let found = greedy(&map, &pool, 3, &COSTS);
        for video in (0..3).map(VideoId) {
            let of_video = |m: &Match| pool.clip(m.clip).video == video;
            let shows_all = map.steps.iter().all(|step| step.is_empty() || step.iter().any(of_video));
            let shown = |s: &Sequence| s.0.iter().flatten().all(|c| pool.clip(*c).video == video);
            prop_assert!(!shows_all || found.iter().any(shown), "video {:?}", video);
        }
    }
}

#[test]
fn a_cover_keeps_the_order_of_its_source_where_it_can() {
    let pool = pool(&[(0, 1), (0, 5), (0, 7)]);
    let map = step_map(&[vec![(1, 4), (2, 8)], vec![(0, 8), (1, 1), (2, 1)]]);
    let found = greedy(&map, &pool, 1, &COSTS);
    assert_eq!(found[0].0, [Some(ClipId(2)), Some(ClipId(2))]);
}

#[test]
fn gaps_neither_switch_nor_break_order() {
    let pool = pool(&[(0, 1), (0, 5), (1, 0)]);
    let map = step_map(&[vec![(1, 8)], vec![], vec![(0, 8), (2, 6)]]);
    let options = KBestOptions { switch_cost: 0.5, order_cost: 1.0 };
    let found = k_best(&map, &pool, 5, &options);
    let (first, second) = (&found[0], &found[1]);
    assert_eq!(first.0, [Some(ClipId(1)), None, Some(ClipId(2))]);
    assert_eq!(second.0, [Some(ClipId(1)), None, Some(ClipId(0))]);
    assert_eq!(found.len(), 2);
}

#[test]
fn nothing_to_show_is_one_sequence_of_gaps() {
    let pool = pool(&[(0, 1)]);
    let map = step_map(&[vec![], vec![]]);
    let options = KBestOptions { switch_cost: 0.5, order_cost: 1.0 };
    let found = k_best(&map, &pool, 5, &options);
    assert_eq!(found.len(), 1);
    assert_eq!(found[0], Sequence(vec![None, None]));
    assert_eq!(greedy(&map, &pool, 5, &COSTS), [Sequence(vec![None, None])]);
    assert!(k_best(&map, &pool, 0, &options).is_empty());
    assert!(greedy(&map, &pool, 0, &COSTS).is_empty());
}

/// Numbers between 0 and 1, the same on every run.
fn numbers(seed: u64) -> impl FnMut() -> f64 {
    let mut state = seed * 2 + 1;
    move || {
        state ^= state >> 12;
        state ^= state << 25;
        state ^= state >> 27;
        (state.wrapping_mul(0x2545_f491_4f6c_dd1d) >> 11) as f64 / (1u64 << 53) as f64
    }
}

/// A library of 30 videos that each show about six in ten of 8 steps, and a procedure mixed from
/// two of them: one serves up to the sixth step and the other from there, or the other helps out
/// with the fourth step only. Its words are those of its sources, so that its clips are similar,
/// though often not the most similar.
fn mixed_procedure(seed: u64) -> (Pool, StepMap, Sequence) {
    let mut number = numbers(seed);
    let clips: Vec<(u32, u64)> = (0..240).map(|row| (row / 8, u64::from(row % 8))).collect();
    let (one, other) = ((number() * 15.0) as u32, 15 + (number() * 15.0) as u32);
    let of_other = |place: u32| if seed.is_multiple_of(2) { place >= 6 } else { place == 3 };
    let truth = |place: u32| (if of_other(place) { other } else { one }) * 8 + place;
    let mut steps: Vec<Vec<(u32, i32)>> = vec![Vec::new(); 8];
    for row in 0..240 {
        let place = row % 8;
        let cannot = row / 8 == one && of_other(place);
        if row == truth(place) || (number() < 0.6 && !cannot) {
            let (least, range) = if row == truth(place) { (6.0, 3.0) } else { (2.0, 6.0) };
            steps[place as usize].push((row, (least + number() * range) as i32));
        }
    }
    let truth = (0..8).map(|place| Some(ClipId(truth(place)))).collect();
    (pool(&clips), step_map(&steps), Sequence(truth))
}

#[test]
fn a_hundred_covers_hold_nearly_every_mixed_procedure() {
    let captured = |seed: &u64| {
        let (pool, map, truth) = mixed_procedure(*seed);
        greedy(&map, &pool, 100, &COSTS).contains(&truth)
    };
    let captured = (0..100).filter(captured).count();
    assert!(captured >= 95, "{captured} of 100");
}
