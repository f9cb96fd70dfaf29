//! Actions: what hands do to things, as a function of the step's progress.

mod cutting;
mod heat;
mod oven;
mod mixing;
mod assembling;
mod washing;
mod bench;
mod joining;
mod potting;
mod beds;

use super::brush::{Brush, Point, between};
use super::hands::Hand;
use super::look::{Look, Stance};
use super::presenter;
use super::things;
use crate::drawing::easing::ease;
use crate::vocabulary::{Action, Domain, Kind, State, Thing, Verb};
use tiny_skia::Transform;

/// A moment of a step.
#[derive(Clone, Copy)]
pub struct Moment<'a> {
    pub look: &'a Look,
    pub action: &'a Action,
    /// 0..=1.
    pub progress: f32,
    /// Seconds since the step began.
    pub seconds: f32,
}

impl Moment<'_> {
    /// What the step acts on.
    pub fn subject(&self) -> Thing {
        let nothing = Thing { kind: Kind::Onion, before: State::Whole, after: State::Whole };
        self.action.things.first().copied().unwrap_or(nothing)
    }

    /// The progress of the work, 0..=1, with a rest at each end.
    pub fn work(&self) -> f32 {
        ((self.progress - 0.1) / 0.8).clamp(0.0, 1.0)
    }

    /// How far the hands are in the picture, 0..=1.
    fn presence(&self) -> f32 {
        ease(self.progress, 0.0, 0.09) * (1.0 - ease(self.progress, 0.9, 1.0))
    }

    /// Where a hand is that works at `at`: it comes from its side and goes back there.
    pub fn reach(&self, hand: Hand, at: Point) -> Point {
        let side = if hand == Hand::Left { -1.0 } else { 1.0 };
        let rest = match self.look.stance {
            Stance::Facing | Stance::Talking => (side * 500.0, self.look.back() + 20.0),
            Stance::Own => (side * 420.0, 520.0),
            Stance::Sides => (side * 900.0, -40.0),
        };
        between(rest, at, self.presence())
    }

    /// Draws the things beside the subject, at the back on both sides.
    pub fn draw_others(&self, b: &mut Brush) {
        let back = -150.0 * self.look.tilt - 30.0;
        for (i, thing) in self.action.things.iter().skip(1).take(3).enumerate() {
            let at = [(-500.0, back), (500.0, back), (-560.0, back + 200.0)][i];
            let state = if self.work() < 0.5 { thing.before } else { thing.after };
            b.placed(at, 0.0, 0.72, |b| things::draw_beside(b, self.look, thing.kind, state));
        }
    }
}

/// The function that draws a verb done to a kind of thing.
fn action_fn(verb: Verb, kind: Kind) -> fn(&mut Brush, &Moment) {
    match verb {
        Verb::Wash => washing::wash,
        Verb::Chop | Verb::Shred => cutting::chop,
        Verb::Slice => cutting::slice,
        Verb::Grate => cutting::grate,
        Verb::Mash => mixing::mash,
        Verb::Whisk => mixing::whisk,
        Verb::Toss => mixing::toss,
        Verb::Fry => heat::fry,
        Verb::Simmer => heat::simmer,
        Verb::Warm => heat::warm,
        Verb::Melt => heat::melt,
        Verb::Pour => heat::pour,
        Verb::Flip => heat::flip,
        Verb::Bake => oven::bake,
        Verb::Spread => assembling::spread,
        Verb::Fill if kind != Kind::Pot => assembling::fill,
        Verb::Top => assembling::top,
        Verb::Squeeze => assembling::squeeze,
        Verb::Drizzle => assembling::drizzle,
        Verb::Measure => bench::measure,
        Verb::Saw => bench::saw,
        Verb::Sand => bench::sand,
        Verb::Drill => bench::drill,
        Verb::Glue => joining::glue,
        Verb::Clamp => joining::clamp,
        Verb::Nail => joining::nail,
        Verb::Screw => joining::screw,
        Verb::Paint | Verb::Varnish => joining::coat,
        Verb::Fill => potting::fill,
        Verb::Sow => potting::sow,
        Verb::Water => potting::water,
        Verb::Feed => potting::feed,
        Verb::Sprout => potting::sprout,
        Verb::Harvest => potting::harvest,
        Verb::Dig => beds::dig,
        Verb::MixIn => beds::mix_in,
        Verb::Transplant => beds::transplant,
        Verb::Stake => beds::stake,
        Verb::Mulch => beds::mulch,
        Verb::Prune => beds::prune,
    }
}

/// Draws an action in the virtual frame.
pub fn draw(b: &mut Brush, look: &Look, action: &Action, progress: f32, seconds: f32) {
    let moment = Moment { look, action, progress, seconds };
    let kind = moment.subject().kind;
    in_action_space(b, look, |b| {
        b.drawn.subject = Some(b.pixel((0.0, 0.0)));
        if action.verb != Verb::Sprout {
            // nobody stands there while a plant grows
            presenter::body_behind(b, look, seconds);
        }
        action_fn(action.verb, kind)(b, &moment);
    });
}

/// The place at rest, with some things of its domain on the surface.
pub fn still_life(b: &mut Brush, look: &Look) {
    use Kind::*;
    use State::*;
    let all = match (look.domain, look.seed % 3) {
        (Domain::Cooking, _) => [(Tomato, Whole), (Pepper, Whole), (Lime, Whole)],
        (Domain::Woodworking, 0) => [(Birdhouse, Painted), (Stool, Varnished), (Leg, Cut)],
        (Domain::Woodworking, 1) => [(Stool, Varnished), (PlanterBox, Painted), (Leg, Cut)],
        (Domain::Woodworking, _) => [(Panel, Drilled), (Birdhouse, Painted), (Leg, Cut)],
        (Domain::Gardening, 0) => [(Basil, Ripe), (Pot, Filled), (TomatoSeeds, Seed)],
        (Domain::Gardening, 1) => [(TomatoPlant, Seedling), (Basil, Ripe), (BasilSeeds, Seed)],
        (Domain::Gardening, _) => [(Pot, Filled), (TomatoPlant, Seedling), (TomatoSeeds, Seed)],
    };
    in_action_space(b, look, |b| {
        let at = [(-430.0, 120.0), (360.0, 100.0), (520.0, 150.0)];
        for ((kind, state), at) in all.into_iter().zip(at) {
            b.placed(at, 0.0, 0.8, |b| things::draw(b, look, kind, state));
        }
    });
}

fn in_action_space(b: &mut Brush, look: &Look, draw: impl FnOnce(&mut Brush)) {
    let (x, y) = look.focus();
    let flip = if look.mirror { -1.0 } else { 1.0 };
    b.within(Transform::from_row(flip * look.zoom, 0.0, 0.0, look.zoom, x, y), draw);
}
