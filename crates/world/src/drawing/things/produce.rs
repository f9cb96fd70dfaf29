//! Food as kind times state: a kind is a shape with three colours, a state is a form and whether it is cooked,
//! and every verb draws every pair of them.

use super::bits;
use crate::drawing::brush::{Brush, Colour, Point, WHITE, down, rgb, round_light};
use crate::drawing::look::Look;
use crate::random::{SplitMix64, seeded, unit_of};
use crate::vocabulary::{Kind, State};

/// What a whole one looks like.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Shape {
    /// With eyes, as a potato.
    Lumpy,
    /// With a stalk, as an apple.
    Round,
    /// With leaves, as a beetroot.
    Root,
    /// Lying, with a cap at its right end, as a courgette.
    Long,
    /// Thicker to the left.
    Club,
    /// A mushroom.
    Cap,
    /// With ribs, as a pumpkin.
    Ribbed,
    /// Drawn by `vegetables`.
    Other,
}

/// A kind's shape and the colours of its skin, its flesh and its core.
pub struct Produce {
    shape: Shape,
    pub skin: Colour,
    pub flesh: Colour,
    pub core: Colour,
}

/// What a knife, a grater or a masher makes of it.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum PieceForm {
    Whole,
    Sliced,
    Chopped,
    Grated,
    Mashed,
}

/// The look of a kind; of one that is not in the table, something of the place's colour.
pub fn produce(look: &Look, kind: Kind) -> Produce {
    let (shape, skin, flesh, core) = match kind {
        Kind::Potato => (Shape::Lumpy, 0xb98a52, 0xf3dc8c, 0xf9ebb4),
        Kind::Apple => (Shape::Round, 0xc92f36, 0xfbf3d6, 0x8a5a2a),
        Kind::Courgette => (Shape::Long, 0x3f7a35, 0xe4edb4, 0xc8da86),
        Kind::Beetroot => (Shape::Root, 0x6b1c42, 0xa3205c, 0xd2608f),
        Kind::Mushroom => (Shape::Cap, 0xc9a784, 0xf4ead8, 0x8f6a4e),
        Kind::Pumpkin => (Shape::Ribbed, 0xe07a1f, 0xf7a93a, 0xfbd27a),
        Kind::Aubergine => (Shape::Club, 0x3d2150, 0xefe6bd, 0xb79a62),
        Kind::Carrot => (Shape::Other, 0xd87a1c, 0xf9a648, 0xfbc277),
        Kind::Tomato => (Shape::Other, 0xc8281f, 0xf27a5c, 0xf7b06a),
        Kind::Cheese => (Shape::Other, 0xe0a52e, 0xf8c74a, 0xfbdc83),
        Kind::Avocado => (Shape::Other, 0x33491f, 0x9fbf45, 0xe6ea9c),
        Kind::Onion => {
            let (skin, core) = bits::onion_skin(look);
            return Produce { shape: Shape::Other, skin, flesh: rgb(0xfbf4e6), core };
        }
        _ => {
            let (shape, skin) = (Shape::Other, look.accent);
            return Produce { shape, skin, flesh: skin.light(0.3), core: skin.light(0.5) };
        }
    };
    Produce { shape, skin: rgb(skin), flesh: rgb(flesh), core: rgb(core) }
}

/// Left end, right end and height of a whole one; none if `vegetables` draws it.
pub fn extent(look: &Look, kind: Kind) -> Option<(f32, f32, f32)> {
    match produce(look, kind).shape {
        Shape::Lumpy => Some((-150.0, 150.0, 170.0)),
        Shape::Round | Shape::Root => Some((-125.0, 125.0, 215.0)),
        Shape::Long => Some((-240.0, 240.0, 112.0)),
        Shape::Club => Some((-220.0, 220.0, 170.0)),
        Shape::Cap => Some((-135.0, 135.0, 200.0)),
        Shape::Ribbed => Some((-185.0, 185.0, 240.0)),
        Shape::Other => None,
    }
}

/// Whether a kind in a state is drawn here rather than by `pieces`.
pub fn draws(kind: Kind, state: State) -> bool {
    use State::*;
    kind >= Kind::Potato
        || matches!(state, CookedWhole | CookedSliced | CookedChopped | CookedGrated)
        || matches!((kind, state), (Kind::Carrot, Sliced | Chopped | Mashed | Topped))
}

/// The form of a state, and how far it is cooked.
pub fn form(state: State) -> (PieceForm, f32) {
    match state {
        State::Sliced => (PieceForm::Sliced, 0.0),
        State::Chopped => (PieceForm::Chopped, 0.0),
        State::Grated | State::Shredded => (PieceForm::Grated, 0.0),
        State::Mashed => (PieceForm::Mashed, 0.0),
        State::CookedWhole => (PieceForm::Whole, 1.0),
        State::CookedSliced => (PieceForm::Sliced, 1.0),
        State::CookedChopped | State::Cooked | State::Topped => (PieceForm::Chopped, 1.0),
        State::CookedGrated => (PieceForm::Grated, 1.0),
        _ => (PieceForm::Whole, 0.0),
    }
}

fn browned(c: Colour, cooked: f32) -> Colour {
    c.mix(rgb(0x9c5418), 0.5 * cooked)
}

impl Produce {
    /// The same, browned by heat.
    fn cooked(self, cooked: f32) -> Self {
        let [skin, flesh, core] = [self.skin, self.flesh, self.core].map(|c| browned(c, cooked));
        Self { skin, flesh, core, ..self }
    }
}

/// One piece around the origin; a whole one is small.
pub fn piece(
    b: &mut Brush,
    look: &Look,
    kind: Kind,
    form: PieceForm,
    cooked: f32,
    random: &mut SplitMix64,
) {
    let colours = produce(look, kind).cooked(cooked);
    let lean = random.range(-40.0, 40.0);
    match form {
        PieceForm::Whole => {
            b.placed((0.0, 40.0), lean * 0.4, 0.48, |b| whole_cooked(b, look, kind, cooked))
        }
        PieceForm::Sliced => disc(b, &colours, lean * 0.4, cooked),
        PieceForm::Chopped => cube(b, &colours, lean, cooked),
        PieceForm::Grated => bits::strand(b, lean * 2.0, colours.flesh, random),
        PieceForm::Mashed => bits::crumb(b, colours.flesh, random),
    }
}

fn disc(b: &mut Brush, p: &Produce, lean: f32, cooked: f32) {
    b.placed((0.0, 0.0), lean, 1.0, |b| {
        b.oval(3.0, 6.0, 45.0, 43.0, p.skin.dark(0.35));
        b.oval(0.0, 0.0, 45.0, 43.0, p.skin);
        b.oval(0.0, 0.0, 38.0, 36.0, p.flesh);
        b.ring(0.0, 0.0, 20.0, 19.0, 5.0, p.core);
        b.oval(0.0, 0.0, 7.0, 7.0, p.core);
        if cooked > 0.0 {
            let scorch = rgb(0x6e3a12).fade(0.7 * cooked);
            b.oval(-16.0, -12.0, 9.0, 7.0, scorch);
            b.oval(14.0, 16.0, 11.0, 6.0, scorch);
        }
    });
}

fn cube(b: &mut Brush, p: &Produce, lean: f32, cooked: f32) {
    b.placed((0.0, 0.0), lean, 1.25, |b| {
        b.rect(-18.0, -10.0, 36.0, 30.0, 4.0, p.skin.dark(0.2));
        b.rect(-18.0, -17.0, 36.0, 27.0, 4.0, p.flesh);
        b.rect(-14.0, -14.0, 16.0, 5.0, 2.0, WHITE.fade(0.4));
        if cooked > 0.0 {
            b.oval(6.0, -2.0, 8.0, 6.0, rgb(0x6e3a12).fade(0.7 * cooked));
        }
    });
}

/// How many pieces cover an ellipse of half-width `rx`, and how large each is drawn.
pub fn count(look: &Look, form: PieceForm, rx: f32) -> usize {
    let size = match form {
        PieceForm::Whole => 6_500.0,
        PieceForm::Sliced => 2_100.0,
        PieceForm::Chopped => 900.0,
        _ => 560.0,
    };
    ((rx * rx * (0.45 + look.tilt) * 1.9 / size) as usize).clamp(3, 110)
}

/// A heap `rx` to each side when `amount` is 1.
pub fn heap(
    b: &mut Brush,
    look: &Look,
    kind: Kind,
    (form, cooked): (PieceForm, f32),
    rx: f32,
    amount: f32,
) {
    if form == PieceForm::Mashed {
        return mash(b, look, kind, rx * amount.clamp(0.0, 1.0).sqrt());
    }
    let grown = rx * amount.clamp(0.0, 1.0).sqrt();
    b.shadow(6.0, 12.0, grown * 1.2 + 20.0, (grown * 1.2 + 20.0) * look.tilt, 0.35);
    let mound = if form == PieceForm::Whole { 0.0 } else { rx * 0.2 };
    let rx = if form == PieceForm::Whole { rx * 0.8 } else { rx };
    for (i, at) in bits::spots(look, rx, count(look, form, rx), amount, mound) {
        let mut random = seeded(i as u64 * 31 + kind as u64);
        b.moved(at.0, at.1, |b| piece(b, look, kind, form, cooked, &mut random));
    }
}

/// A mound of it, mashed.
pub fn mash(b: &mut Brush, look: &Look, kind: Kind, rx: f32) {
    bits::mash_of(b, look, produce(look, kind).flesh, rx);
}

/// A whole one without its shadow, its lowest point near the origin.
pub fn whole(b: &mut Brush, look: &Look, kind: Kind) {
    whole_cooked(b, look, kind, 0.0);
}

fn whole_cooked(b: &mut Brush, look: &Look, kind: Kind, cooked: f32) {
    let p = produce(look, kind).cooked(cooked);
    match p.shape {
        Shape::Lumpy => lumpy(b, &p),
        Shape::Round | Shape::Other => round(b, &p),
        Shape::Root => root(b, &p),
        Shape::Long => long(b, &p),
        Shape::Club => club(b, &p),
        Shape::Cap => cap(b, &p),
        Shape::Ribbed => ribbed(b, &p),
    }
}

const GREEN: Colour = rgb(0x4f9a3a);

fn leaf(b: &mut Brush, long: f32, wide: f32) {
    b.blob(&[(0.0, 0.0), (long * 0.4, -wide), (long, 0.0), (long * 0.4, wide)], GREEN);
}

fn body(b: &mut Brush, points: &[Point], c: Colour) {
    b.blob(points, round_light((-50.0, -120.0), 240.0, c.light(0.3), c.dark(0.2)));
}

fn lumpy(b: &mut Brush, p: &Produce) {
    let points = [
        (-152.0, -76.0),
        (-112.0, -148.0),
        (-20.0, -166.0),
        (80.0, -160.0),
        (148.0, -100.0),
        (134.0, -26.0),
        (40.0, 4.0),
        (-80.0, 0.0),
    ];
    body(b, &points, p.skin);
    for i in 0..9 {
        let (x, y) = (-110.0 + 220.0 * unit_of(i, 1), -135.0 + 110.0 * unit_of(i, 2));
        b.line(&[(x - 9.0, y), (x, y + 5.0), (x + 9.0, y)], 4.0, p.skin.dark(0.35));
    }
    b.line(&[(-80.0, -132.0), (-10.0, -146.0)], 12.0, WHITE.fade(0.25));
}

fn round(b: &mut Brush, p: &Produce) {
    let points = [
        (0.0, -188.0),
        (60.0, -208.0),
        (124.0, -140.0),
        (96.0, -36.0),
        (36.0, 4.0),
        (0.0, -6.0),
        (-36.0, 4.0),
        (-96.0, -36.0),
        (-124.0, -140.0),
        (-60.0, -208.0),
    ];
    body(b, &points, p.skin);
    b.oval(36.0, -90.0, 34.0, 60.0, rgb(0xf2c14e).fade(0.35));
    b.line(&[(-84.0, -150.0), (-92.0, -104.0)], 16.0, WHITE.fade(0.45));
    b.line(&[(0.0, -186.0), (8.0, -224.0), (20.0, -236.0)], 11.0, rgb(0x6b4423));
    b.placed((12.0, -214.0), -20.0, 1.0, |b| leaf(b, 76.0, 24.0));
}

fn root(b: &mut Brush, p: &Produce) {
    for (x, lean) in [(-40.0, -28.0), (0.0, 0.0), (40.0, 28.0)] {
        b.placed((x * 0.3, -180.0), -90.0 + lean, 1.0, |b| {
            b.line(&[(0.0, 0.0), (70.0, 0.0)], 11.0, rgb(0xa3305a));
            b.moved(56.0, 0.0, |b| leaf(b, 90.0, 32.0));
        });
    }
    let points = [
        (0.0, -196.0),
        (90.0, -180.0),
        (124.0, -100.0),
        (76.0, -26.0),
        (8.0, 14.0),
        (-76.0, -26.0),
        (-124.0, -100.0),
        (-90.0, -180.0),
    ];
    body(b, &points, p.skin);
    b.line(&[(-70.0, -140.0), (-86.0, -96.0)], 13.0, WHITE.fade(0.3));
    b.line(&[(4.0, 0.0), (20.0, 20.0), (44.0, 24.0)], 8.0, p.skin.dark(0.2));
}

fn long(b: &mut Brush, p: &Produce) {
    let c = p.skin;
    b.rect(-240.0, -112.0, 470.0, 112.0, 56.0, down(-112.0, 0.0, c.light(0.25), c.dark(0.3)));
    for i in 0..26 {
        let (x, y) = (-210.0 + 400.0 * unit_of(i, 3), -98.0 + 84.0 * unit_of(i, 4));
        b.oval(x, y, 9.0, 5.0, c.light(0.4).fade(0.7));
    }
    b.rect(-190.0, -96.0, 340.0, 12.0, 6.0, WHITE.fade(0.35));
    b.rect(206.0, -86.0, 48.0, 58.0, 14.0, rgb(0x9dbb5e));
}

fn club(b: &mut Brush, p: &Produce) {
    let points = [
        (-222.0, -84.0),
        (-160.0, -160.0),
        (-40.0, -164.0),
        (90.0, -126.0),
        (190.0, -100.0),
        (196.0, -50.0),
        (90.0, -24.0),
        (-60.0, 2.0),
        (-170.0, -8.0),
    ];
    body(b, &points, p.skin);
    b.line(&[(-150.0, -132.0), (-30.0, -138.0), (80.0, -106.0)], 14.0, WHITE.fade(0.4));
    b.blob(
        &[(170.0, -112.0), (214.0, -92.0), (212.0, -60.0), (166.0, -40.0), (186.0, -76.0)],
        GREEN,
    );
    b.line(&[(204.0, -76.0), (244.0, -90.0)], 18.0, GREEN.dark(0.15));
}

fn cap(b: &mut Brush, p: &Produce) {
    let stem = [(-46.0, -100.0), (46.0, -100.0), (58.0, -10.0), (0.0, 6.0), (-58.0, -10.0)];
    b.blob(&stem, down(-100.0, 0.0, p.flesh.dark(0.1), p.flesh));
    b.oval(0.0, -98.0, 118.0, 24.0, p.core);
    let points = [
        (-138.0, -98.0),
        (-112.0, -166.0),
        (0.0, -206.0),
        (112.0, -166.0),
        (138.0, -98.0),
        (0.0, -74.0),
    ];
    body(b, &points, p.skin);
    b.oval(-50.0, -158.0, 34.0, 15.0, WHITE.fade(0.4));
}

fn ribbed(b: &mut Brush, p: &Produce) {
    for (x, w) in [(-116.0, 70.0), (116.0, 70.0), (-62.0, 72.0), (62.0, 72.0), (0.0, 74.0)] {
        let c = p.skin;
        let light = round_light((x - 20.0, -150.0), 170.0, c.light(0.25), c.dark(0.2));
        b.oval(x, -108.0, w, 112.0, light);
    }
    b.line(&[(0.0, -208.0), (6.0, -244.0), (30.0, -256.0)], 24.0, rgb(0x7b7a3a));
    b.line(&[(-120.0, -170.0), (-140.0, -110.0)], 14.0, WHITE.fade(0.35));
}
