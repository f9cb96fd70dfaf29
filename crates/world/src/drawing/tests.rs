//! Every step the scripts use draws, the same way every time, and changes what is seen.

use super::*;
use crate::catalogue::{DomainData, StepData, TaskSet, catalogue};
use crate::vocabulary::{Action, Domain, Kind, State, Thing, Verb};

const SIZE: (u32, u32) = (160, 90);

/// Every step of the data files, and two of roses in states that no task has.
fn all() -> Vec<(Domain, Scene)> {
    let step = |domain: &DomainData, step: &StepData| (domain.domain, Scene::Step(step.action()));
    let of =
        |domain: &'static DomainData| domain.steps.values().map(move |each| step(domain, each));
    let rose = |verb, after| {
        let rose = Thing { kind: Kind::Rose, before: State::Planted, after };
        (Domain::Gardening, Scene::Step(Action { verb, things: vec![rose] }))
    };
    let roses = [rose(Verb::Mulch, State::Mulched), rose(Verb::Water, State::Watered)];
    let domains = TaskSet::ALL.into_iter().flat_map(|set| &catalogue(set).domains);
    domains.flat_map(of).chain(roses).collect()
}

fn frame(place: &Place, scene: &Scene, progress: f32) -> Pixmap {
    let mut canvas = Pixmap::new(SIZE.0, SIZE.1).unwrap();
    draw(place, scene, progress, progress * 8.0, &mut canvas);
    canvas
}

/// Mean difference of the colours in the middle of the picture, 0..=255.
fn difference(a: &Pixmap, b: &Pixmap) -> f32 {
    let middle =
        (SIZE.0 / 4..SIZE.0 * 3 / 4).flat_map(|x| (SIZE.1 / 4..SIZE.1).map(move |y| (x, y)));
    let parts: Vec<f32> = middle
        .filter_map(|(x, y)| Some((a.pixel(x, y)?, b.pixel(x, y)?)))
        .map(|(p, q)| {
            let gap = |u: u8, v: u8| f32::from(u.abs_diff(v));
            (gap(p.red(), q.red()) + gap(p.green(), q.green()) + gap(p.blue(), q.blue())) / 3.0
        })
        .collect();
    parts.iter().sum::<f32>() / parts.len() as f32
}

#[test]
fn every_step_fills_the_frame_and_is_the_same_each_time() {
    for (i, (domain, scene)) in all().into_iter().enumerate() {
        let place = Place::new(domain, i as u64);
        for progress in [0.0, 0.5, 1.0] {
            let first = frame(&place, &scene, progress);
            assert!(first.pixels().iter().all(|p| p.alpha() == 255), "{scene:?} leaves holes");
            let again = frame(&Place::new(domain, i as u64), &scene, progress);
            assert_eq!(first.data(), again.data(), "{scene:?} at {progress}");
        }
    }
}

#[test]
fn a_step_changes_what_is_seen_on_the_surface() {
    for (i, (domain, scene)) in all().into_iter().enumerate() {
        for seed in 0..3 {
            let mut place = Place::new(domain, seed * 31 + i as u64);
            place.look.shake = 0.0;
            let [before, during, after] = [0.0, 0.5, 1.0].map(|at| frame(&place, &scene, at));
            let change = difference(&before, &after);
            assert!(change > 2.0, "{scene:?} changes by {change}");
            let work = difference(&before, &during).min(difference(&during, &after));
            assert!(work > 1.5, "{scene:?} looks the same half way: {work}");
        }
    }
}

#[test]
fn the_same_step_looks_different_in_another_place() {
    for (domain, scene) in all() {
        let [a, b] = [3, 4].map(|seed| frame(&Place::new(domain, seed), &scene, 0.5));
        assert!(difference(&a, &b) > 10.0, "{scene:?}");
    }
}

#[test]
fn no_two_places_look_the_same() {
    for domain in [Domain::Cooking, Domain::Woodworking, Domain::Gardening] {
        let title = Scene::Chatter;
        let frames: Vec<Pixmap> =
            (0..12).map(|seed| frame(&Place::new(domain, seed), &title, 0.5)).collect();
        for (i, a) in frames.iter().enumerate() {
            for b in &frames[i + 1..] {
                assert!(difference(a, b) > 12.0);
            }
        }
    }
}

#[test]
fn strange_arguments_draw_something() {
    let place = Place::new(Domain::Cooking, u64::MAX);
    let nothing = Scene::Step(Action { verb: Verb::Top, things: Vec::new() });
    for scene in [nothing, Scene::Title { title: String::new(), subtitle: "x".repeat(500) }] {
        for progress in [-1.0, f32::NAN, 7.0] {
            for size in [(1, 1), (9, 200), (300, 20)] {
                let mut canvas = Pixmap::new(size.0, size.1).unwrap();
                draw(&place, &scene, progress, -5.0, &mut canvas);
            }
        }
    }
}
