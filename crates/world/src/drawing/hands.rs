//! Hands and forearms: they come from where the presenter stands, hold tools, steady and drop things.

use super::brush::{Brush, Colour, Point, between, direction, towards};
use super::look::{Look, Stance};

/// Which hand: the one that works, or the one that steadies.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Hand {
    /// On the left of the picture.
    Left,
    /// On the right of the picture.
    Right,
}

impl Hand {
    fn sign(self) -> f32 {
        match self {
            Hand::Left => -1.0,
            Hand::Right => 1.0,
        }
    }

    /// The shoulder (or, out of sight, the elbow's far side) in the action space.
    pub fn root(self, look: &Look) -> Point {
        let side = self.sign();
        match look.stance {
            Stance::Facing | Stance::Talking => (side * 175.0, look.back() - 190.0),
            Stance::Own => (side * 560.0, 620.0),
            Stance::Sides => (side * 1040.0, -60.0),
        }
    }
}

/// A hand closed around a tool. `tool` is drawn with its grip at the origin, pointing along x, its
/// upper side up whether it points left or right.
pub fn hold(
    b: &mut Brush,
    look: &Look,
    hand: Hand,
    at: Point,
    axis: f32,
    tool: impl FnOnce(&mut Brush),
) {
    let back = arm(b, look, hand, at);
    palm(b, look, at, back);
    let upright = if axis.to_radians().cos() < 0.0 { -1.0 } else { 1.0 }; // what is up stays up
    b.placed(at, axis, 1.0, |b| b.stretched(1.0, upright, tool));
    let turn = (axis - back).rem_euclid(360.0);
    let flip = if turn < 180.0 { 1.0 } else { -1.0 };
    b.placed(at, axis, 1.0, |b| b.stretched(1.0, flip, |b| fist(b, look.skin)));
}

/// A hand with curled fingers that steadies something below it.
pub fn claw(b: &mut Brush, look: &Look, hand: Hand, at: Point) {
    let back = arm(b, look, hand, at);
    b.placed(at, back + 180.0, 1.0, |b| {
        b.stretched(1.0, hand.sign(), |b| spread_fingers(b, look.skin, 0.62))
    });
}

/// A hand whose finger and thumb hold something small: it is drawn between them, at the origin.
pub fn pinch(b: &mut Brush, look: &Look, hand: Hand, at: Point, thing: impl FnOnce(&mut Brush)) {
    let side = hand.sign();
    let wrist = (at.0 + side * 34.0, at.1 - 66.0);
    let back = arm(b, look, hand, wrist);
    let skin = look.skin;
    palm(b, look, wrist, back);
    b.limb(wrist, 40.0, (at.0 + side * 14.0, at.1 - 6.0), 25.0, skin.dark(0.1));
    b.placed(at, 0.0, 1.0, thing);
    b.limb(
        (wrist.0 + side * 18.0, wrist.1 + 6.0),
        30.0,
        (at.0 + side * 40.0, at.1 - 8.0),
        24.0,
        skin.dark(0.05),
    );
    b.limb((wrist.0 - side * 12.0, wrist.1), 34.0, (at.0 - side * 10.0, at.1 - 4.0), 24.0, skin);
    nail(b, (at.0 - side * 10.0, at.1 - 2.0), skin);
}

/// An open hand, palm up or down, as when something falls from it or someone explains.
pub fn open(b: &mut Brush, look: &Look, hand: Hand, at: Point, turn: f32) {
    let back = arm(b, look, hand, at);
    b.placed(at, back + 180.0 + turn, 1.0, |b| {
        b.stretched(1.0, hand.sign(), |b| spread_fingers(b, look.skin, 1.0))
    });
}

/// A fist for whatever is held without a tool.
pub fn grab(b: &mut Brush, look: &Look, hand: Hand, at: Point, axis: f32) {
    hold(b, look, hand, at, axis, |_| {});
}

/// Draws the arm to `at` and returns the direction from the hand back to the elbow, in degrees.
pub fn arm(b: &mut Brush, look: &Look, hand: Hand, at: Point) -> f32 {
    b.drawn.hands[hand as usize] = Some(b.pixel(at));
    let root = hand.root(look);
    let elbow = elbow_of(look, hand, root, at);
    let back = direction(at, elbow);
    let wrist = towards(at, back, 26.0);
    if in_sight(look) {
        upper_arm(b, look, root, elbow);
    }
    forearm(b, look, elbow, wrist);
    back
}

/// Whether the shoulders are in the picture.
fn in_sight(look: &Look) -> bool {
    matches!(look.stance, Stance::Facing | Stance::Talking)
}

fn elbow_of(look: &Look, hand: Hand, root: Point, at: Point) -> Point {
    if !in_sight(look) {
        return root;
    }
    let (upper, lower) = (235.0, 260.0);
    let reach = (at.0 - root.0).hypot(at.1 - root.1).max(1.0);
    let span = reach.clamp(40.0, upper + lower - 6.0);
    let along = (upper * upper - lower * lower + span * span) / (2.0 * span);
    let out = (upper * upper - along * along).max(0.0).sqrt();
    let way = direction(root, at);
    let stretch = (reach / span).max(1.0);
    // one who works has the elbows out, one who talks lets them hang
    if look.stance == Stance::Talking {
        return towards(towards(root, way, along), way + 90.0 * hand.sign(), out);
    }
    let towards_us = ((at.1 - root.1) / 260.0).clamp(0.15, 1.0); // a raised arm is foreshortened
    let (turn, out) = (-90.0, out * towards_us);
    towards(towards(root, way, along * stretch), way + turn * hand.sign(), out)
}

fn upper_arm(b: &mut Brush, look: &Look, root: Point, elbow: Point) {
    let c = look.sleeve;
    b.limb(root, 108.0 * look.build, elbow, 84.0, c.dark(0.16));
    let lift = |s: Point| (s.0 - 6.0 * look.light.abs(), s.1 - 5.0);
    b.limb(lift(root), 86.0 * look.build, lift(elbow), 62.0, c);
}

fn forearm(b: &mut Brush, look: &Look, elbow: Point, wrist: Point) {
    let far = !in_sight(look);
    let (we, ww) = if far { (120.0, 54.0) } else { (82.0, 50.0) };
    let skin = look.skin;
    b.limb(elbow, we, wrist, ww, skin.dark(0.17));
    let lift = |s: Point| (s.0 - 3.0, s.1 - 5.0);
    b.limb(lift(elbow), we * 0.76, lift(wrist), ww * 0.8, skin);
    let t = if far { 0.35 + 0.45 * look.sleeve_length } else { look.sleeve_length };
    let end = between(elbow, wrist, t.max(0.08));
    let width = we + (ww - we) * t + 22.0;
    let c = look.sleeve;
    b.limb(elbow, we + 24.0, end, width, c.dark(0.16));
    b.limb(lift(elbow), we, lift(end), width * 0.74, c);
    cuff(b, elbow, end, width, c);
}

fn cuff(b: &mut Brush, elbow: Point, end: Point, width: f32, cloth: Colour) {
    let way = direction(elbow, end);
    b.placed(end, way, 1.0, |b| {
        b.rect(-6.0, -width * 0.54, 26.0, width * 1.08, 11.0, cloth.dark(0.1));
        b.rect(-2.0, -width * 0.5, 10.0, width * 0.8, 5.0, cloth.light(0.25));
    });
}

fn palm(b: &mut Brush, look: &Look, at: Point, back: f32) {
    b.placed(at, back, 1.0, |b| {
        b.rect(-36.0, -37.0, 84.0, 74.0, 34.0, look.skin.dark(0.14));
        b.rect(-32.0, -36.0, 76.0, 60.0, 28.0, look.skin);
    });
}

/// Four fingers over a handle along x, and the thumb beside them.
fn fist(b: &mut Brush, skin: Colour) {
    let long = [30.0, 34.0, 33.0, 27.0];
    for (i, half) in long.iter().enumerate() {
        let x = -35.0 + i as f32 * 23.0;
        b.limb((x, -half * 0.75), 27.0, (x + 3.0, *half), 24.0, skin.dark(0.24));
        b.limb((x - 1.0, -half * 0.75), 23.0, (x + 2.0, half - 2.0), 20.0, skin);
        b.limb((x - 3.0, -half * 0.8), 9.0, (x - 2.0, -half * 0.2), 7.0, skin.light(0.22));
    }
    b.limb((-40.0, -22.0), 32.0, (24.0, -36.0), 24.0, skin.dark(0.2));
    b.limb((-40.0, -24.0), 27.0, (22.0, -37.0), 20.0, skin.light(0.06));
    nail(b, (22.0, -38.0), skin);
}

/// A hand along x from the wrist, fingers `reach` as long as they are.
fn spread_fingers(b: &mut Brush, skin: Colour, reach: f32) {
    b.rect(-34.0, -40.0, 92.0, 80.0, 34.0, skin.dark(0.15));
    let tips = [(-33.0, 66.0), (-12.0, 80.0), (11.0, 77.0), (32.0, 60.0)];
    for (i, (y, far)) in tips.into_iter().enumerate() {
        let tip = (34.0 + far * reach, y * (0.9 + 0.35 * reach) + 4.0);
        b.limb((34.0, y * 0.8), 28.0, tip, 24.0, skin.dark(0.22));
        b.limb(
            (34.0, y * 0.8 - 1.0),
            24.0,
            (tip.0 - 1.0, tip.1 - 1.0),
            20.0,
            skin.light(0.02 * i as f32),
        );
        nail(b, (tip.0 + 3.0, tip.1), skin);
    }
    b.rect(-30.0, -38.0, 84.0, 66.0, 30.0, skin);
    b.limb((2.0, -30.0), 32.0, (42.0 + 16.0 * reach, -62.0), 23.0, skin.dark(0.18));
    b.limb((2.0, -32.0), 27.0, (40.0 + 16.0 * reach, -63.0), 19.0, skin.light(0.05));
}

fn nail(b: &mut Brush, at: Point, skin: Colour) {
    b.oval(at.0, at.1, 6.5, 5.5, skin.light(0.45));
}
