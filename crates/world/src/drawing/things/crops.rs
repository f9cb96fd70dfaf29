//! Plants as kind times state: a kind is a habit with leaves and fruit, a state is a stage of growth in a pot
//! or a bed, and every verb draws every pair of them.

use super::{earth, greens};
use crate::drawing::brush::{Brush, Colour, Point, WHITE, between, rgb, round_light, towards};
use crate::drawing::easing::lerp;
use crate::drawing::look::Look;
use crate::random::unit_of;
use crate::vocabulary::{Kind, State};

/// How a plant grows.
#[derive(Clone, Copy, PartialEq)]
enum Habit {
    /// One straight stem.
    Upright,
    /// Many stems from the foot.
    Bushy,
    /// Along the ground.
    Creeping,
}

/// What a plant bears.
#[derive(Clone, Copy, PartialEq)]
enum Bearing {
    Flower,
    /// Hanging, `long` times as long as wide.
    Fruit(f32),
}

struct Crop {
    habit: Habit,
    /// Of a full-grown one.
    high: f32,
    leaf: Colour,
    /// Length and half-width of a full-grown leaf.
    leaf_size: Point,
    bearing: Bearing,
    /// Of the flower or fruit.
    colour: Colour,
    radius: f32,
    /// How many.
    count: usize,
    seed: Colour,
}

fn crop(kind: Kind) -> Crop {
    use Bearing::*;
    use Habit::*;
    let row = match kind {
        Kind::Sunflower => {
            (Upright, 390.0, 0x5a9a3a, (130.0, 46.0), Flower, 0xf6bf26, 84.0, 1, 0x2d2626)
        }
        Kind::PepperPlant => {
            (Bushy, 260.0, 0x3f8a3c, (92.0, 28.0), Fruit(1.25), 0xe8632a, 34.0, 6, 0xf2e3b0)
        }
        Kind::BeanPlant => {
            (Upright, 400.0, 0x6aa843, (88.0, 40.0), Fruit(4.2), 0x9fcc54, 14.0, 8, 0xf3efe2)
        }
        Kind::StrawberryPlant => {
            (Creeping, 120.0, 0x3f8f4a, (84.0, 38.0), Fruit(1.2), 0xd92b3a, 26.0, 7, 0xc9a15a)
        }
        Kind::Marigold => {
            (Bushy, 190.0, 0x4c8f4f, (60.0, 14.0), Flower, 0xf08a1e, 40.0, 5, 0x6b5a48)
        }
        Kind::PumpkinPlant => {
            (Creeping, 150.0, 0x5d8f3a, (124.0, 60.0), Fruit(0.82), 0xe8862a, 62.0, 3, 0xf7efd8)
        }
        _ => (Bushy, 280.0, 0x4d9440, (72.0, 18.0), Fruit(3.4), 0xd81f2a, 13.0, 9, 0xe9d9a0),
    };
    let (habit, high, leaf, leaf_size, bearing, colour, radius, count, seed) = row;
    let [leaf, colour, seed] = [leaf, colour, seed].map(rgb);
    Crop { habit, high, leaf, leaf_size, bearing, colour, radius, count, seed }
}

/// Whether a kind is drawn here.
pub fn draws(kind: Kind) -> bool {
    kind >= Kind::Sunflower
}

/// The colour of a kind's seeds.
pub fn seed(kind: Kind) -> Colour {
    crop(kind).seed
}

/// How many flowers or fruits a kind bears.
pub fn count(kind: Kind) -> usize {
    crop(kind).count
}

/// How far a plant of a state has grown, 0..=1.
pub fn growth(state: State) -> f32 {
    match state {
        State::Seed | State::Sown => 0.0,
        State::Sprout | State::PlantedSprout => 0.27,
        State::Seedling => 0.55,
        State::Ripe | State::Harvested => 1.0,
        _ => 0.65,
    }
}

/// Whether a plant of a state stands in a pot rather than in the bed.
pub fn is_potted(state: State) -> bool {
    matches!(state, State::Seed | State::Sown | State::Sprout | State::Seedling)
}

/// One in its state, in soil `wet` (0..=1).
pub fn draw(b: &mut Brush, look: &Look, kind: Kind, state: State, wet: f32) {
    match state {
        State::Seed => packet(b, look, kind),
        _ if is_potted(state) => earth::pot(b, look, 1.0, wet, |b| stand(b, look, kind, state)),
        _ => earth::bed(b, look, wet, |b| stand(b, look, kind, state)),
    }
}

/// A plant of a state on its soil.
pub fn stand(b: &mut Brush, look: &Look, kind: Kind, state: State) {
    let d = earth::BED.1 * look.tilt * 0.5;
    match state {
        State::Sown => return seeds(b, look, kind, 1.0),
        State::Mulched => earth::straw(b, (390.0, d * 0.84), 40.0 * look.tilt, 1.0, 190),
        State::Staked => greens::stake(b, look, 1.0, 3.0),
        _ => {}
    }
    let borne = if state == State::Ripe { count(kind) } else { 0 };
    plant(b, look, kind, growth(state), borne);
}

/// Seeds in their dimples, `sown` (0..=1) of them.
pub fn seeds(b: &mut Brush, look: &Look, kind: Kind, sown: f32) {
    let c = seed(kind);
    for i in 0..(sown * 9.0).round() as usize {
        let (s, co) = (i as f32 * 2.4).sin_cos();
        let far = 140.0 * ((i as f32 + 0.5) / 9.0).sqrt();
        let (x, y) = (far * co, far * look.tilt * s);
        b.oval(x, y + 3.0, 25.0, 16.0, earth::soil(0.9).dark(0.3));
        b.oval(x, y, 15.0, 10.0, c);
        b.oval(x - 4.0, y - 3.0, 5.0, 3.0, c.light(0.5));
    }
}

/// A packet of seeds with a picture of what they become.
pub fn packet(b: &mut Brush, look: &Look, kind: Kind) {
    let c = crop(kind);
    earth::packet_of(b, look, c.colour.dark(0.15), |b| {
        b.placed((0.0, -96.0), 0.0, 44.0 / c.radius.max(20.0), |b| bear(b, &c, (0.0, 0.0), 1.0));
    });
}

/// A plant grown `g` (0..=1) with the first `borne` of its flowers or fruits.
pub fn plant(b: &mut Brush, look: &Look, kind: Kind, g: f32, borne: usize) {
    let c = crop(kind);
    let green = c.leaf.mix(look.front, 0.1);
    if g < 0.3 {
        return first_leaves(b, &c, g / 0.3, green);
    }
    match c.habit {
        Habit::Upright => upright(b, &c, g, green),
        Habit::Bushy => bushy(b, &c, g, green),
        Habit::Creeping => creeping(b, &c, g, green),
    }
    bearing_spots(kind).into_iter().take(borne).for_each(|at| bear(b, &c, at, 1.0));
}

/// Where a full-grown plant's flowers or fruits are.
pub fn bearing_spots(kind: Kind) -> Vec<Point> {
    let c = crop(kind);
    let spot = |i: usize| match (c.habit, c.bearing) {
        (Habit::Upright, Bearing::Flower) => (4.0, -c.high - 20.0),
        (Habit::Creeping, _) => {
            (330.0 * ((i as f32 + 0.5) / c.count as f32 * 2.0 - 1.0), 14.0 + 22.0 * unit_of(i, 5))
        }
        (Habit::Bushy, Bearing::Flower) => stem_end(&c, i, c.count, 1.0),
        _ => {
            let side = if i.is_multiple_of(2) { -1.0 } else { 1.0 };
            let t = 0.25 + 0.6 * i as f32 / c.count as f32;
            (side * (64.0 + 50.0 * unit_of(i, 3)), -c.high * t)
        }
    };
    (0..c.count).map(spot).collect()
}

/// One flower or fruit, `size` as large as it gets.
fn bear(b: &mut Brush, c: &Crop, at: Point, size: f32) {
    let r = c.radius * size;
    match c.bearing {
        Bearing::Flower => {
            for i in 0..12 {
                let tip = towards(at, 30.0 * i as f32, r);
                b.limb(
                    at,
                    r * 0.3,
                    tip,
                    r * 0.36,
                    if i % 2 == 0 { c.colour } else { c.colour.dark(0.14) },
                );
            }
            b.oval(
                at.0,
                at.1,
                r * 0.46,
                r * 0.46,
                rgb(0x5a3418).mix(c.colour, if r < 60.0 { 0.6 } else { 0.0 }),
            );
        }
        Bearing::Fruit(long) => {
            let light = round_light(
                (at.0 - r * 0.4, at.1 - r * 0.4),
                r * 1.6 * long.max(1.0),
                c.colour.light(0.25),
                c.colour.dark(0.22),
            );
            b.line(
                &[(at.0, at.1 - r * long - 14.0), (at.0, at.1 - r * long + 4.0)],
                7.0,
                rgb(0x4a7a34),
            );
            b.oval(at.0, at.1, r, r * long, light);
            b.oval(at.0 - r * 0.35, at.1 - r * long * 0.4, r * 0.2, r * 0.3, WHITE.fade(0.7));
        }
    }
}

/// A flower or fruit on its own, as a hand carries it.
pub fn carried(b: &mut Brush, kind: Kind, at: Point) {
    bear(b, &crop(kind), at, 0.9);
}

fn leaf(b: &mut Brush, c: &Crop, at: Point, degrees: f32, size: f32, tint: Colour) {
    b.placed(at, degrees, size, |b| earth::leaf(b, c.leaf_size.0, c.leaf_size.1, tint));
}

fn first_leaves(b: &mut Brush, c: &Crop, t: f32, green: Colour) {
    let high = lerp(20.0, 110.0, t);
    b.line(&[(0.0, 0.0), (6.0, -high * 0.5), (0.0, -high)], 12.0, green.dark(0.1));
    for side in [-1.0, 1.0] {
        b.placed((0.0, -high), -90.0 + side * lerp(20.0, 64.0, t), 1.0, |b| {
            earth::leaf(b, lerp(30.0, 92.0, t), lerp(12.0, 30.0, t), green.light(0.2))
        });
    }
    if t > 0.6 {
        leaf(b, c, (0.0, -high), -90.0, 0.5, green.light(0.05));
    }
}

fn upright(b: &mut Brush, c: &Crop, g: f32, green: Colour) {
    let high = c.high * g;
    let stem = [(0.0, 0.0), (8.0, -high * 0.4), (-6.0, -high * 0.75), (4.0, -high)];
    b.line(&stem, lerp(12.0, 20.0, g), green.dark(0.2));
    let count = lerp(4.0, 11.0, g) as usize;
    for i in 0..count {
        let t = 0.15 + 0.82 * i as f32 / count as f32;
        let side = if i % 2 == 0 { -1.0 } else { 1.0 };
        let tint = if i % 2 == 0 { green.light(0.15) } else { green.dark(0.04) };
        leaf(b, c, (0.0, -high * t), -90.0 + side * lerp(84.0, 50.0, t), lerp(0.7, 1.0, g), tint);
    }
}

/// Where the `i`-th of a bush's stems ends.
fn stem_end(c: &Crop, i: usize, count: usize, g: f32) -> Point {
    let lean = -90.0 + 62.0 * ((i as f32 + 0.5) / count as f32 * 2.0 - 1.0);
    towards((0.0, 0.0), lean, c.high * g * (0.85 + 0.15 * unit_of(i, 4)))
}

fn bushy(b: &mut Brush, c: &Crop, g: f32, green: Colour) {
    for i in 0..5 {
        let end = stem_end(c, i, 5, g);
        b.line(
            &[(0.0, 0.0), (end.0 * 0.35, end.1 * 0.6), end],
            lerp(9.0, 14.0, g),
            green.dark(0.25),
        );
        for j in 0..5 {
            let at = between((0.0, 0.0), end, 0.3 + 0.17 * j as f32);
            let side = if j % 2 == 0 { -1.0 } else { 1.0 };
            let tint = green.light(0.2 * unit_of(i * 5 + j, 6));
            leaf(b, c, at, -90.0 + side * 60.0 + 14.0 * i as f32 - 28.0, lerp(0.6, 1.0, g), tint);
        }
    }
}

fn creeping(b: &mut Brush, c: &Crop, g: f32, green: Colour) {
    for i in 0..9 {
        let u = (i as f32 + 0.5) / 4.5 - 1.0;
        let at = (u * lerp(60.0, 330.0, g), -c.high * g * (1.0 - 0.6 * u * u));
        b.line(&[(0.0, 0.0), (at.0 * 0.5, at.1 * 1.1), at], 8.0, green.dark(0.25));
        for side in [-1.0, 0.0, 1.0] {
            let tint = green.light(0.1 + 0.1 * side);
            leaf(b, c, at, -90.0 + 40.0 * u + side * 62.0, lerp(0.55, 0.9, g), tint);
        }
    }
}
