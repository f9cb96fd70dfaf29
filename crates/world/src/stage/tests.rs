//! Every step the scripts use draws, the same way every time, and changes what is seen.

use super::*;
use crate::vocabulary::{Action, Domain, Kind, State, Thing, Verb};

const SIZE: (u32, u32) = (160, 90);

fn thing(kind: Kind, before: State, after: State) -> Thing {
    Thing { kind, before, after }
}

fn step(verb: Verb, things: &[(Kind, State, State)]) -> Scene {
    let things = things.iter().map(|&(k, b, a)| thing(k, b, a)).collect();
    Scene::Step(Action { verb, things })
}

fn cooking() -> Vec<Scene> {
    use Kind::*;
    use State::*;
    let beside = |kind, state| (kind, state, state);
    vec![
        step(Verb::Chop, &[(Onion, Whole, Chopped)]),
        step(Verb::Chop, &[(Tomato, Whole, Chopped)]),
        step(Verb::Chop, &[(Pepper, Whole, Chopped)]),
        step(Verb::Grate, &[(Cheese, Whole, Grated)]),
        step(Verb::Grate, &[(Carrot, Whole, Grated)]),
        step(Verb::Fry, &[(Mince, Raw, Cooked), beside(Onion, Chopped)]),
        step(Verb::Warm, &[(Tortilla, Raw, Cooked)]),
        step(Verb::Fill, &[(Taco, Empty, Filled), beside(Mince, Cooked), beside(Cheese, Grated)]),
        step(Verb::Squeeze, &[(Lime, Whole, Squeezed), beside(Taco, Filled)]),
        step(Verb::Spread, &[(TortillaChips, Raw, Spread)]),
        step(Verb::Simmer, &[(BlackBeans, Raw, Cooked)]),
        step(Verb::Mash, &[(Avocado, Whole, Mashed)]),
        step(Verb::Bake, &[(Nachos, Raw, Cooked), (Cheese, Grated, Melted)]),
        step(
            Verb::Top,
            &[(Nachos, Cooked, Topped), beside(Avocado, Mashed), beside(Pepper, Chopped)],
        ),
        step(Verb::Wash, &[(Lettuce, Whole, Washed)]),
        step(Verb::Wash, &[(Berries, Whole, Washed)]),
        step(Verb::Shred, &[(Lettuce, Washed, Shredded)]),
        step(Verb::Slice, &[(Cucumber, Whole, Sliced)]),
        step(Verb::Whisk, &[(Dressing, Separate, Mixed)]),
        step(Verb::Whisk, &[(Batter, Separate, Mixed)]),
        step(Verb::Toss, &[(Salad, Separate, Mixed), beside(Dressing, Mixed)]),
        step(Verb::Melt, &[(Butter, Whole, Melted)]),
        step(Verb::Pour, &[(Pancake, Empty, Raw), beside(Batter, Mixed)]),
        step(Verb::Flip, &[(Pancake, Raw, Cooked)]),
        step(Verb::Top, &[(Pancake, Cooked, Topped), beside(Berries, Washed)]),
        step(Verb::Drizzle, &[(Syrup, Whole, Whole), beside(Pancake, Topped)]),
    ]
}

fn wood() -> Vec<Scene> {
    use Kind::*;
    use State::*;
    [
        (Verb::Measure, Board, Plain, Marked),
        (Verb::Saw, Board, Marked, Cut),
        (Verb::Saw, Leg, Plain, Cut),
        (Verb::Sand, Seat, Rough, Sanded),
        (Verb::Sand, Board, Cut, Sanded),
        (Verb::Drill, Panel, Plain, Drilled),
        (Verb::Drill, Seat, Sanded, Drilled),
        (Verb::Drill, PlanterBox, Built, Drilled),
        (Verb::Glue, Panel, Drilled, Glued),
        (Verb::Glue, Leg, Cut, Glued),
        (Verb::Clamp, Stool, Glued, Clamped),
        (Verb::Nail, Birdhouse, Parts, Built),
        (Verb::Screw, Bookshelf, Parts, Built),
        (Verb::Screw, PlanterBox, Parts, Built),
        (Verb::Paint, Birdhouse, Built, Painted),
        (Verb::Paint, PlanterBox, Drilled, Painted),
        (Verb::Varnish, Stool, Clamped, Varnished),
        (Verb::Varnish, Bookshelf, Built, Varnished),
    ]
    .map(|(verb, kind, before, after)| step(verb, &[(kind, before, after)]))
    .to_vec()
}

fn garden() -> Vec<Scene> {
    use Kind::*;
    use State::*;
    let beside = |kind, state| (kind, state, state);
    vec![
        step(Verb::Fill, &[(Pot, Empty, Filled), beside(Soil, Flat)]),
        step(Verb::Sow, &[(TomatoSeeds, Seed, Sown), (Pot, Filled, Sown)]),
        step(Verb::Sow, &[(BasilSeeds, Seed, Sown), (Pot, Filled, Sown)]),
        step(Verb::Water, &[(Pot, Sown, Watered)]),
        step(Verb::Sprout, &[(TomatoPlant, Seed, Seedling), (Pot, Watered, Watered)]),
        step(Verb::Sprout, &[(Basil, Seed, Seedling), (Pot, Watered, Watered)]),
        step(Verb::Transplant, &[(TomatoPlant, Seedling, Planted)]),
        step(Verb::Transplant, &[(LettuceSeedling, Seedling, Planted)]),
        step(Verb::Transplant, &[(Rose, Seedling, Planted)]),
        step(Verb::Stake, &[(TomatoPlant, Planted, Staked)]),
        step(Verb::Harvest, &[(TomatoPlant, Ripe, Harvested)]),
        step(Verb::Harvest, &[(Basil, Ripe, Harvested)]),
        step(Verb::Feed, &[(Basil, Seedling, Fed), beside(Fertiliser, Whole)]),
        step(Verb::Feed, &[(Rose, Planted, Fed), beside(Fertiliser, Whole)]),
        step(Verb::Dig, &[(GardenBed, Flat, Dug)]),
        step(Verb::MixIn, &[(GardenBed, Dug, Enriched), beside(Compost, Flat)]),
        step(Verb::Mulch, &[(GardenBed, Enriched, Mulched), beside(Straw, Flat)]),
        step(Verb::Mulch, &[(Rose, Planted, Mulched), beside(Straw, Flat)]),
        step(Verb::Water, &[(LettuceSeedling, Planted, Watered)]),
        step(Verb::Water, &[(Rose, Planted, Watered)]),
        step(Verb::Water, &[(Rose, Mulched, Watered)]),
        step(Verb::Mulch, &[(Rose, Pruned, Mulched), beside(Straw, Spread)]),
        step(Verb::Prune, &[(Rose, Overgrown, Pruned)]),
    ]
}

fn all() -> Vec<(Domain, Scene)> {
    let with = |domain, scenes: Vec<Scene>| scenes.into_iter().map(move |s| (domain, s));
    with(Domain::Cooking, cooking())
        .chain(with(Domain::Woodworking, wood()))
        .chain(with(Domain::Gardening, garden()))
        .collect()
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
