//! The presenter: a body behind the work, and a face that talks in chatter scenes.

use super::brush::{Brush, Colour, Point, SHADE, WHITE, across, down, rgb, smooth, towards};
use super::easing::wave;
use super::hands::{self, Hand};
use super::look::{Look, Stance};
use crate::random::{seeded, unit_of};
use crate::vocabulary::Domain;

/// The body of one who faces the camera, behind the counter; in the action space.
pub fn body_behind(b: &mut Brush, look: &Look, seconds: f32) {
    if look.stance != Stance::Facing {
        return;
    }
    let base = look.back();
    let breath = 2.0 * wave(seconds, 0.3);
    if look.domain == Domain::Gardening {
        b.moved(0.0, base, |b| knees(b, look));
    }
    b.moved(0.0, base, |b| {
        torso(b, look, 0.0, breath);
        head(b, look, (0.0, -398.0 + breath), 0.0, 0.0, seconds);
    });
    if look.domain != Domain::Gardening {
        b.shadow(0.0, base + 6.0, 250.0, 22.0, 0.4);
    }
}

/// The legs of one who kneels on the ground: there is no counter in a garden.
fn knees(b: &mut Brush, look: &Look) {
    let (w, c) = (look.build, rgb(0x46566b).mix(look.front, 0.2));
    b.shadow(0.0, 104.0, 300.0 * w, 46.0, 0.45);
    for side in [-1.0, 1.0] {
        b.limb((side * 80.0, 10.0), 170.0 * w, (side * 118.0 * w, 60.0), 120.0, c.dark(0.18));
        b.limb((side * 76.0, 0.0), 140.0 * w, (side * 112.0 * w, 50.0), 92.0, c);
    }
}

/// The presenter talking to the camera, waving hands; in the virtual frame.
pub fn talk(b: &mut Brush, look: &Look, seconds: f32) {
    let sway = 10.0 * wave(seconds, 0.21);
    let facing = Look { stance: Stance::Talking, ..look.clone() };
    let mut random = seeded(look.seed ^ 77);
    let at = (800.0 + *random.pick(&[-250.0, 0.0, 250.0]), 930.0);
    b.placed(at, 0.0, random.range(1.44, 1.62), |b| {
        torso(b, look, sway * 0.4, 0.0);
        head(
            b,
            look,
            (sway, -404.0 + 4.0 * wave(seconds, 0.9)),
            sway * 0.25,
            talking(seconds),
            seconds,
        );
        gestures(b, &facing, seconds);
    });
}

/// How far the mouth is open: syllables with pauses between phrases.
fn talking(seconds: f32) -> f32 {
    let phrase = if unit_of((seconds / 1.7) as usize, 5) < 0.85 { 1.0 } else { 0.0 };
    let syllable = (wave(seconds, 3.1) * 0.6 + wave(seconds + 0.3, 4.7) * 0.5).abs();
    phrase * syllable.min(1.0)
}

fn gestures(b: &mut Brush, look: &Look, seconds: f32) {
    let root = Hand::Left.root(look);
    let still = look.back();
    // hands::arm works in the action space; shift so that the shoulders meet this torso's
    b.moved(0.0, -still, |b| {
        let (l, r) = (wave(seconds, 0.37), wave(seconds + 0.9, 0.43));
        let left = (root.0 - 150.0 + 26.0 * l, root.1 + 30.0 - 40.0 * l);
        let right = (-root.0 + 150.0 + 30.0 * r, root.1 + 22.0 - 50.0 * r);
        hands::open(b, look, Hand::Left, left, 14.0 * l);
        hands::open(b, look, Hand::Right, right, 14.0 * r);
    });
}

/// Chest, shoulders and apron; the origin is at the waist.
fn torso(b: &mut Brush, look: &Look, lean: f32, breath: f32) {
    let (w, c) = (look.build, look.sleeve);
    let top = -268.0 + breath;
    let skin = look.skin;
    b.limb((lean, top - 50.0), 84.0, (lean, top + 20.0), 96.0, skin.dark(0.16));
    let outline = smooth(&[
        (lean - 70.0, top + 2.0),
        (lean + 70.0, top + 2.0),
        (lean + 205.0 * w, top + 52.0),
        (190.0 * w, top + 160.0),
        (170.0 * w, 20.0),
        (-170.0 * w, 20.0),
        (-190.0 * w, top + 160.0),
        (lean - 205.0 * w, top + 52.0),
    ]);
    b.fill(&outline, across(-200.0, 200.0, c.light(0.06), c.dark(0.14)));
    b.blob(
        &[
            (lean - 50.0, top + 2.0),
            (lean, top + 56.0),
            (lean + 50.0, top + 2.0),
            (lean, top - 14.0),
        ],
        skin.dark(0.08),
    );
    apron(b, look, lean, top);
}

fn apron(b: &mut Brush, look: &Look, lean: f32, top: f32) {
    let (w, c) = (look.build, look.apron);
    for side in [-1.0, 1.0] {
        b.line(&[(lean + side * 66.0, top + 8.0), (side * 88.0, top + 96.0)], 20.0, c.dark(0.14));
    }
    b.polygon(
        &[(-98.0, top + 90.0), (98.0, top + 90.0), (150.0 * w, 24.0), (-150.0 * w, 24.0)],
        down(top + 90.0, 24.0, c, c.dark(0.1)),
    );
    b.rect(-98.0, top + 86.0, 196.0, 12.0, 5.0, c.light(0.3));
    match look.domain {
        Domain::Cooking => b.rect(-58.0, top + 180.0, 116.0, 8.0, 4.0, c.dark(0.25)),
        Domain::Woodworking => {
            b.rect(-56.0, top + 130.0, 80.0, 70.0, 8.0, c.dark(0.16));
            b.rect(-34.0, top + 104.0, 12.0, 60.0, 4.0, rgb(0xe8b03a));
        }
        Domain::Gardening => {
            b.rect(-66.0, top + 150.0, 132.0, 84.0, 18.0, c.dark(0.16));
            b.rect(-66.0, top + 150.0, 132.0, 9.0, 4.0, c.light(0.25));
        }
    }
}

/// The head, its middle at `at`.
fn head(b: &mut Brush, look: &Look, at: Point, lean: f32, mouth: f32, seconds: f32) {
    b.placed(at, lean, 1.0, |b| {
        hair_behind(b, look);
        let skin = look.skin;
        for side in [-1.0, 1.0] {
            b.oval(side * 84.0, 8.0, 17.0, 24.0, skin.dark(0.16));
        }
        let face = smooth(&[
            (0.0, -108.0),
            (72.0, -66.0),
            (83.0, 6.0),
            (52.0, 82.0),
            (0.0, 108.0),
            (-52.0, 82.0),
            (-83.0, 6.0),
            (-72.0, -66.0),
        ]);
        b.fill(&face, across(-90.0, 90.0, skin.light(0.08), skin.dark(0.1)));
        if look.beard {
            beard(b, look);
        }
        features(b, look, mouth, seconds);
        hair_before(b, look);
        hat(b, look);
    });
}

fn features(b: &mut Brush, look: &Look, mouth: f32, seconds: f32) {
    let blink = if (seconds * 0.31 + look.zoom * 7.0).fract() < 0.04 { 0.12 } else { 1.0 };
    let brow = look.hair.dark(0.15);
    for side in [-1.0, 1.0] {
        b.oval(side * 34.0, -4.0, 14.0, 12.0 * blink, WHITE);
        b.oval(side * 34.0, -3.0, 8.5, 10.0 * blink, rgb(0x33241f));
        b.oval(side * 34.0 + 3.0, -7.0, 3.0, 3.0 * blink, WHITE);
        let lift = -30.0 - 4.0 * mouth;
        b.line(
            &[(side * 52.0, lift + 4.0), (side * 34.0, lift - 4.0), (side * 18.0, lift + 2.0)],
            8.0,
            brow,
        );
        b.glow(side * 52.0, 34.0, 22.0, 16.0, rgb(0xe86a5a).fade(0.32));
        if look.glasses {
            b.ring(side * 34.0, -3.0, 25.0, 22.0, 5.0, rgb(0x2b2b33));
        }
    }
    if look.glasses {
        b.line(&[(-10.0, -6.0), (10.0, -6.0)], 5.0, rgb(0x2b2b33));
    }
    b.line(&[(0.0, 2.0), (10.0, 28.0), (-2.0, 32.0)], 5.5, look.skin.dark(0.28));
    lips(b, mouth, look.skin);
}

fn lips(b: &mut Brush, mouth: f32, skin: Colour) {
    if mouth < 0.12 {
        b.line(&[(-26.0, 56.0), (0.0, 66.0), (26.0, 56.0)], 6.0, rgb(0x8c3a35).mix(skin, 0.2));
        return;
    }
    let h = 6.0 + 16.0 * mouth;
    b.blob(&[(-28.0, 56.0), (0.0, 54.0), (28.0, 56.0), (0.0, 56.0 + h * 1.5)], rgb(0x6b1f24));
    b.blob(&[(-18.0, 57.0), (0.0, 56.0), (18.0, 57.0), (0.0, 64.0)], WHITE);
    b.oval(0.0, 56.0 + h, 12.0, h * 0.3, rgb(0xd9665e));
}

fn beard(b: &mut Brush, look: &Look) {
    b.blob(
        &[
            (-83.0, 6.0),
            (-58.0, 42.0),
            (0.0, 40.0),
            (58.0, 42.0),
            (83.0, 6.0),
            (62.0, 92.0),
            (0.0, 126.0),
            (-62.0, 92.0),
        ],
        look.hair,
    );
    b.oval(0.0, 60.0, 36.0, 20.0, look.skin.dark(0.06));
}

fn hair_behind(b: &mut Brush, look: &Look) {
    let h = look.hair.dark(0.14);
    match look.hair_style {
        0 => b.rect(-104.0, -80.0, 208.0, 240.0, 80.0, h),
        1 => b.oval(0.0, -136.0, 52.0, 48.0, h),
        2 => (0..14).for_each(|i| {
            let (x, y) = towards((0.0, -46.0), 180.0 + i as f32 * 14.0, 92.0);
            b.oval(x, y, 38.0, 38.0, h);
        }),
        3 => b.rect(-98.0, -100.0, 196.0, 170.0, 70.0, h),
        4 => b.line(&[(64.0, -60.0), (112.0, 20.0), (98.0, 130.0)], 46.0, h),
        _ => {}
    }
}

fn hair_before(b: &mut Brush, look: &Look) {
    let h = look.hair;
    let cap = match look.hair_style {
        0 | 3 => vec![
            (-92.0, 14.0),
            (-96.0, -70.0),
            (0.0, -126.0),
            (96.0, -70.0),
            (92.0, 14.0),
            (66.0, -56.0),
            (-10.0, -82.0),
            (-66.0, -44.0),
        ],
        1 | 4 => vec![
            (-90.0, -10.0),
            (-84.0, -84.0),
            (0.0, -124.0),
            (84.0, -84.0),
            (90.0, -10.0),
            (62.0, -72.0),
            (0.0, -86.0),
            (-62.0, -72.0),
        ],
        2 => vec![
            (-88.0, -24.0),
            (-70.0, -100.0),
            (0.0, -128.0),
            (70.0, -100.0),
            (88.0, -24.0),
            (50.0, -76.0),
            (0.0, -82.0),
            (-50.0, -76.0),
        ],
        5 => vec![
            (-88.0, -18.0),
            (-86.0, -84.0),
            (-20.0, -136.0),
            (78.0, -112.0),
            (90.0, -18.0),
            (72.0, -62.0),
            (20.0, -72.0),
            (-64.0, -88.0),
        ],
        _ => vec![
            (-86.0, 0.0),
            (-84.0, -60.0),
            (-56.0, -96.0),
            (0.0, -112.0),
            (56.0, -96.0),
            (84.0, -60.0),
            (86.0, 0.0),
            (74.0, -56.0),
            (0.0, -96.0),
            (-74.0, -56.0),
        ],
    };
    b.blob(&cap, down(-130.0, 0.0, h.light(0.14), h));
}

fn hat(b: &mut Brush, look: &Look) {
    match (look.domain, look.hat) {
        (Domain::Cooking, 0) => {
            b.rect(-76.0, -136.0, 152.0, 52.0, 10.0, rgb(0xf7f4ee));
            for (x, r) in [(-52.0, 46.0), (0.0, 58.0), (52.0, 46.0)] {
                b.oval(x, -160.0, r, r * 0.8, WHITE.mix(SHADE, 0.02));
            }
            b.rect(-76.0, -104.0, 152.0, 6.0, 0.0, SHADE.fade(0.12));
        }
        (Domain::Gardening, 0 | 1) => {
            b.oval(0.0, -82.0, 172.0, 34.0, rgb(0xd9b061));
            b.blob(
                &[(-86.0, -84.0), (-66.0, -150.0), (0.0, -168.0), (66.0, -150.0), (86.0, -84.0)],
                rgb(0xe8c67c),
            );
            b.line(&[(-84.0, -92.0), (0.0, -80.0), (84.0, -92.0)], 16.0, look.accent);
        }
        (Domain::Woodworking, 0) => {
            b.blob(
                &[
                    (-90.0, -66.0),
                    (-74.0, -120.0),
                    (0.0, -140.0),
                    (74.0, -120.0),
                    (90.0, -66.0),
                    (0.0, -78.0),
                ],
                look.accent,
            );
            b.blob(
                &[
                    (-84.0, -74.0),
                    (0.0, -92.0),
                    (84.0, -74.0),
                    (110.0, -56.0),
                    (0.0, -66.0),
                    (-60.0, -58.0),
                ],
                look.accent.dark(0.25),
            );
        }
        _ => {}
    }
}
