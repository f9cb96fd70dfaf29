//! Drop-DTW gives the published behaviour on every golden case, and the cheapest of all
//! alignments on small random ones.

use proptest::prelude::*;
use serde_json::Value;
use stitch_core::align::{
    AlignError, AlignOptions, Alignment, CostOptions, Costs, drop_dtw, drop_dtw_with_missing_steps,
};

fn cases() -> Vec<Value> {
    serde_json::from_str(include_str!("data/drop_dtw.json")).unwrap()
}

fn numbers(value: &Value) -> Vec<f64> {
    value.as_array().unwrap().iter().map(|x| x.as_f64().unwrap()).collect()
}

fn matrix(value: &Value) -> Vec<Vec<f64>> {
    value.as_array().unwrap().iter().map(numbers).collect()
}

fn options(case: &Value) -> AlignOptions {
    let flag = |name: &str| case["kw"][name].as_bool().unwrap_or(true);
    AlignOptions { exclusive: flag("exclusive"), contiguous: flag("contiguous") }
}

fn path(alignment: &Alignment) -> Vec<Vec<f64>> {
    alignment.path.iter().map(|cell| vec![f64::from(cell.step), f64::from(cell.second)]).collect()
}

/// For each second the step it shows, from 1, and 0 for none; of several steps the first.
fn labels(alignment: &Alignment) -> Vec<f64> {
    let seconds = alignment.path.first().map_or(0, |last| last.second);
    let mut labels = vec![0.0; seconds as usize];
    for cell in alignment.path.iter().filter(|cell| cell.is_match) {
        labels[cell.second as usize - 1] = f64::from(cell.step);
    }
    labels
}

/// Steps that no second shows, from 0.
fn dropped_steps(alignment: &Alignment) -> Vec<usize> {
    (0..alignment.spans.len()).filter(|step| alignment.spans[*step].is_none()).collect()
}

fn check(name: &str, alignment: &Alignment, case: &Value) {
    let cost = case["min_cost"].as_f64().unwrap();
    assert!((alignment.cost - cost).abs() < 1e-6, "{name}: {} is not {cost}", alignment.cost);
    assert_eq!(path(alignment), matrix(&case["path"]), "{name}: path");
    if let Some(expected) = case.get("labels") {
        assert_eq!(labels(alignment), numbers(expected), "{name}: labels");
    }
}

#[test]
fn every_golden_alignment_comes_out() {
    let mut seen = 0;
    for case in cases().iter().filter(|case| case.get("drop").is_some()) {
        let name = case["name"].as_str().unwrap();
        let costs = Costs::new(matrix(&case["zx"]).concat(), numbers(&case["drop"])).unwrap();
        let alignment = drop_dtw(&costs, &options(case));
        if case["min_cost"].is_null() {
            assert_eq!(alignment, Err(AlignError::TooManySteps { steps: 4, seconds: 2 }));
        } else {
            check(name, &alignment.unwrap(), case);
        }
        seen += 1;
    }
    assert_eq!(seen, 19);
}

#[test]
fn golden_costs_come_from_golden_similarities() {
    let mut seen = 0;
    for case in cases().iter().filter(|case| case.get("k").is_some()) {
        let name = case["name"].as_str().unwrap();
        let costs = costs_from_similarity(case);
        let expected = matrix(&case["zx"]);
        for (second, drop) in numbers(&case["drop"]).into_iter().enumerate() {
            assert!((costs.drop()[second] - drop).abs() < 2e-6, "{name}: drop {second}");
            for (step, row) in expected.iter().enumerate() {
                let difference = costs.matching(step, second) - row[second];
                assert!(difference.abs() < 2e-6, "{name}: {step}, {second}: {difference}");
            }
        }
        let alignment = drop_dtw(&costs, &options(case)).unwrap();
        assert!((alignment.cost - case["min_cost"].as_f64().unwrap()).abs() < 1e-4, "{name}");
        assert_eq!(labels(&alignment), numbers(&case["labels"]), "{name}: labels");
        seen += 1;
    }
    assert_eq!(seen, 6);
}

/// The share to keep and the temperature stand in the case's name.
fn costs_from_similarity(case: &Value) -> Costs {
    let name = case["name"].as_str().unwrap();
    let option = |key: &str, or: f64| {
        let found = name.split(' ').find_map(|word| word.strip_prefix(key));
        found.map_or(or, |number| number.parse().unwrap())
    };
    let options = CostOptions { keep: option("keep=", 0.3), temperature: option("g=", 1.0) };
    let similarity = matrix(&case["sim"]);
    let ids = case.get("labels_in").map(numbers);
    let ids = ids.unwrap_or_else(|| (0..similarity.len()).map(|i| i as f64).collect());
    let firsts: Vec<usize> =
        (0..ids.len()).filter(|step| !ids[..*step].contains(&ids[*step])).collect();
    let rows: Vec<usize> =
        ids.iter().map(|id| firsts.iter().position(|f| ids[*f] == *id).unwrap()).collect();
    let distinct: Vec<f64> = firsts.iter().flat_map(|step| similarity[*step].clone()).collect();
    let mut sorted = distinct.clone();
    sorted.sort_by(|a, b| b.total_cmp(a));
    let k = case["k"].as_u64().unwrap() as usize;
    assert_eq!(sorted[k - 1], case["baseline"].as_f64().unwrap(), "{name}: baseline");
    Costs::from_similarity(&distinct, similarity[0].len(), &rows, &options).unwrap()
}

#[test]
fn the_golden_missing_step_is_found() {
    let cases = cases();
    let case = cases.iter().find(|case| case.get("zdrop").is_some()).unwrap();
    let costs = Costs::new(matrix(&case["zx"]).concat(), numbers(&case["xdrop"])).unwrap();
    let step_drop = numbers(&case["zdrop"]);
    let alignment =
        drop_dtw_with_missing_steps(&costs, &step_drop, &AlignOptions::default()).unwrap();
    check("H", &alignment, case);
    let mut dropped = numbers(&case["z_dropped"]);
    dropped.dedup();
    let found: Vec<f64> = dropped_steps(&alignment).iter().map(|i| *i as f64 + 1.0).collect();
    assert_eq!(found, dropped);
    assert_eq!(alignment.spans, [Some(0..1), None, Some(2..3)]);
}

/// Every way to give each kept step a set of seconds, with its cost; `None` = missing.
fn every_alignment(
    costs: &Costs,
    step_drop: Option<&[f64]>,
    options: &AlignOptions,
) -> Vec<(f64, Vec<Option<u32>>)> {
    let mut found = Vec::new();
    extend(costs, step_drop, options, &mut Vec::new(), &mut found);
    found
}

fn extend(
    costs: &Costs,
    step_drop: Option<&[f64]>,
    options: &AlignOptions,
    sets: &mut Vec<Option<u32>>,
    found: &mut Vec<(f64, Vec<Option<u32>>)>,
) {
    if sets.len() == costs.steps() {
        found.push((cost_of(costs, step_drop, sets), sets.clone()));
        return;
    }
    let last = sets.iter().flatten().last().copied();
    for set in 1u32..1 << costs.seconds() {
        let shifted = set >> set.trailing_zeros();
        let in_order = last.is_none_or(|last: u32| {
            let (end, start) = (31 - last.leading_zeros(), set.trailing_zeros());
            if options.exclusive { end < start } else { end <= start }
        });
        if in_order && (!options.contiguous || shifted & (shifted + 1) == 0) {
            sets.push(Some(set));
            extend(costs, step_drop, options, sets, found);
            sets.pop();
        }
    }
    if step_drop.is_some() {
        sets.push(None);
        extend(costs, step_drop, options, sets, found);
        sets.pop();
    }
}

fn cost_of(costs: &Costs, step_drop: Option<&[f64]>, sets: &[Option<u32>]) -> f64 {
    let any = sets.iter().flatten().fold(0, |any, set| any | set);
    let seconds = 0..costs.seconds();
    let dropped: f64 = seconds.clone().filter(|j| any >> j & 1 == 0).map(|j| costs.drop()[j]).sum();
    let of_step = |step: usize| match sets[step] {
        None => step_drop.unwrap()[step],
        Some(set) => {
            seconds.clone().filter(|j| set >> j & 1 == 1).map(|j| costs.matching(step, j)).sum()
        }
    };
    dropped + (0..sets.len()).map(of_step).sum::<f64>()
}

/// The sets of seconds that the alignment's path matches.
fn sets_of(alignment: &Alignment) -> Vec<Option<u32>> {
    let mut sets = vec![None; alignment.spans.len()];
    for cell in alignment.path.iter().filter(|cell| cell.is_match) {
        let set: &mut Option<u32> = &mut sets[cell.step as usize - 1];
        *set = Some(set.unwrap_or(0) | 1 << (cell.second - 1));
    }
    sets
}

/// Costs in quarters are exact in floating point, so that sums compare exactly and ties happen.
fn small_costs() -> impl Strategy<Value = (Costs, Vec<f64>)> {
    (1usize..=3, 1usize..=5).prop_flat_map(|(steps, seconds)| {
        let quarters =
            |n: usize| prop::collection::vec((-4i32..16).prop_map(|x| x as f64 / 4.0), n);
        (quarters(steps * seconds), quarters(seconds), quarters(steps)).prop_map(
            |(matching, drop, step_drop)| (Costs::new(matching, drop).unwrap(), step_drop),
        )
    })
}

fn all_options() -> impl Strategy<Value = AlignOptions> {
    any::<(bool, bool)>().prop_map(|(exclusive, contiguous)| AlignOptions { exclusive, contiguous })
}

fn is_the_cheapest(
    costs: &Costs,
    step_drop: Option<&[f64]>,
    options: &AlignOptions,
) -> Result<(), TestCaseError> {
    let all = every_alignment(costs, step_drop, options);
    let cheapest = all.iter().map(|(cost, _)| *cost).fold(f64::INFINITY, f64::min);
    let align = || match step_drop {
        None => drop_dtw(costs, options),
        Some(step_drop) => drop_dtw_with_missing_steps(costs, step_drop, options),
    };
    let Ok(alignment) = align() else {
        prop_assert!(all.is_empty(), "there is an alignment");
        return Ok(());
    };
    prop_assert_eq!(alignment.cost, cheapest);
    let sets = sets_of(&alignment);
    prop_assert_eq!(cost_of(costs, step_drop, &sets), cheapest, "{:?}", sets);
    prop_assert!(all.iter().any(|(_, other)| *other == sets), "{:?} is allowed", sets);
    prop_assert_eq!(align().unwrap(), alignment, "ties are always broken the same way");
    Ok(())
}

proptest! {
    #[test]
    fn no_alignment_is_cheaper((costs, _) in small_costs(), options in all_options()) {
        is_the_cheapest(&costs, None, &options)?;
    }

    #[test]
    fn no_alignment_with_missing_steps_is_cheaper(
        (costs, step_drop) in small_costs(), options in all_options()
    ) {
        is_the_cheapest(&costs, Some(&step_drop), &options)?;
    }
}

#[test]
fn a_window_holds_a_step() {
    let mut costs = Costs::new(vec![0.0, 1.0, 1.0, 0.0, 1.0, 1.0], vec![0.5; 3]).unwrap();
    costs.bound(0, 1..2);
    let alignment = drop_dtw(&costs, &AlignOptions::default()).unwrap();
    assert_eq!(alignment.spans, [Some(1..2), Some(2..3)]);
    costs.bound(1, 0..1);
    let impossible = drop_dtw(&costs, &AlignOptions::default());
    assert_eq!(impossible, Err(AlignError::Impossible));
}

#[test]
fn more_steps_than_seconds_may_be_missing() {
    let costs = Costs::new(vec![1.0; 8], vec![1.0; 2]).unwrap();
    let options = AlignOptions::default();
    let alignment = drop_dtw_with_missing_steps(&costs, &[0.25; 4], &options).unwrap();
    assert!(dropped_steps(&alignment).len() >= 2);
    let error = drop_dtw(&costs, &options).unwrap_err().to_string();
    assert!(error.contains("4 steps") && error.contains("2 seconds"), "{error}");
    let wrong = drop_dtw_with_missing_steps(&costs, &[0.25; 3], &options);
    assert!(matches!(wrong, Err(AlignError::Count { expected: 4, given: 3, .. })));
}
