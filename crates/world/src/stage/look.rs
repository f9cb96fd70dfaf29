//! What a seed decides about a place: colours, layout, camera, tools and the presenter.

use super::brush::{Colour, Spot, rgb};
use super::dice::{Dice, lerp};
use super::palette::{self, BOARDS, CLOTHS, HAIRS, HANDLES, METALS, SKINS, WARES};
use crate::vocabulary::Domain;

/// Where the one who works stands.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Stance {
    /// Behind the counter, facing the camera: the arms come down from a body in sight.
    Facing,
    /// Behind the camera: the arms come up from below.
    Own,
    /// Out of sight at both sides.
    Sides,
    /// Before the counter, talking to the camera with raised hands.
    Talking,
}

/// All that makes one place differ from another.
#[derive(Clone, Debug)]
pub struct Look {
    pub domain: Domain,
    pub seed: u64,
    pub wall: Colour,
    pub trim: Colour,
    pub surface: Colour,
    pub front: Colour,
    pub accent: Colour,
    pub accent2: Colour,
    /// Which wall, which surface, what hangs and stands about: large numbers to take remainders of.
    pub wall_kind: usize,
    pub surface_kind: usize,
    pub decor: u64,
    /// Height over width of a circle lying on the surface: small is a low camera, large a high one.
    pub tilt: f32,
    /// -1 for light from the left, 1 from the right.
    pub light: f32,
    pub glow: Colour,
    pub vignette: f32,
    /// Whether the act is seen mirrored.
    pub mirror: bool,
    pub zoom: f32,
    pub shake: f32,
    pub stance: Stance,
    pub skin: Colour,
    pub sleeve: Colour,
    /// How much of the forearm the sleeve covers, 0..=1.
    pub sleeve_length: f32,
    pub apron: Colour,
    pub hair: Colour,
    pub hair_style: usize,
    pub beard: bool,
    pub glasses: bool,
    pub hat: usize,
    pub build: f32,
    pub handle: Colour,
    pub metal: Colour,
    pub ware: Colour,
    pub ware2: Colour,
    pub board: Colour,
    /// Shape of boards, knives, pans and the like: a large number to take remainders of.
    pub tool_kind: usize,
}

impl Look {
    /// The look that a seed gives.
    pub fn new(domain: Domain, seed: u64) -> Look {
        let mut dice = Dice::new(seed.wrapping_mul(3).wrapping_add(domain as u64));
        let colours = palette::palette(domain, dice.below(1 << 16)).map(rgb);
        let [wall, trim, surface, front, accent, accent2] = shifted(colours, &mut dice);
        let (skin, sleeve, apron) = (dice.pick(SKINS), dice.pick(CLOTHS), dice.pick(CLOTHS));
        let tilt = dice.pick([0.36, 0.42, 0.5, 0.58, 0.66]) + dice.range(-0.02, 0.02);
        let mut look = Look {
            domain,
            seed,
            wall,
            trim,
            surface,
            front,
            accent,
            accent2,
            wall_kind: dice.below(1 << 16),
            surface_kind: dice.below(1 << 16),
            decor: dice.bits(),
            tilt,
            light: dice.pick([-1.0, 1.0]),
            glow: dice.pick([rgb(0xffdc9c), rgb(0xffe9c8), rgb(0xd5e8ff), rgb(0xffc98a)]),
            vignette: dice.pick([0.0, 0.0, 0.1, 0.16]),
            mirror: dice.chance(0.5),
            zoom: dice.range(1.16, 1.32),
            shake: dice.pick([0.0, 2.0, 5.0]),
            stance: stance_for(tilt, &mut dice),
            skin,
            sleeve,
            sleeve_length: dice.pick([0.05, 0.35, 0.7]),
            apron,
            hair: hair_for(skin, &mut dice),
            hair_style: dice.below(7),
            beard: dice.chance(0.28),
            glasses: dice.chance(0.3),
            hat: dice.below(4),
            build: dice.range(0.92, 1.1),
            handle: dice.pick(HANDLES),
            metal: dice.pick(METALS),
            ware: dice.pick(WARES),
            ware2: dice.pick(WARES),
            board: dice.pick(BOARDS),
            tool_kind: dice.below(1 << 16),
        };
        look.keep_apart();
        look
    }

    /// Where the surface ends at the back.
    pub fn horizon(&self) -> f32 {
        lerp(400.0, 150.0, (self.tilt - 0.36) / 0.3)
    }

    /// Where the surface ends at the back, in the act's space.
    pub fn back(&self) -> f32 {
        (self.horizon() - self.focus().1) / self.zoom
    }

    /// The point of the surface where the work stands.
    pub fn focus(&self) -> Spot {
        (800.0, lerp(665.0, 600.0, (self.tilt - 0.36) / 0.3))
    }

    /// Dishes must not vanish into the counter, nor boards, nor sleeves into aprons.
    fn keep_apart(&mut self) {
        let near = |a: Colour, b: Colour| distance(a, b) < 0.28;
        if near(self.board, self.surface) {
            self.board = BOARDS
                .into_iter()
                .max_by(|a, b| distance(*a, self.surface).total_cmp(&distance(*b, self.surface)))
                .unwrap_or(self.board);
        }
        if near(self.ware, self.surface) {
            self.ware = if self.surface.brightness() > 0.55 { self.accent } else { rgb(0xf5f1e8) };
        }
        if near(self.sleeve, self.apron) {
            self.apron = if near(self.accent, self.sleeve) { self.front } else { self.accent };
        }
    }
}

/// How far apart two colours are, each channel counting the same.
pub fn distance(a: Colour, b: Colour) -> f32 {
    let (r, g, bl) = (a.red - b.red, a.green - b.green, a.blue - b.blue);
    (r * r + g * g + bl * bl).sqrt()
}

/// Fair hair goes with fair skin; grey with any.
fn hair_for(skin: Colour, dice: &mut Dice) -> Colour {
    let hair = dice.pick(HAIRS);
    let fair = hair.brightness() > skin.brightness() * 0.8 && hair.red - hair.blue > 0.1;
    if fair { HAIRS[0] } else { hair }
}

fn stance_for(tilt: f32, dice: &mut Dice) -> Stance {
    match (tilt < 0.55, dice.chance(0.6)) {
        (true, true) => Stance::Facing,
        (true, false) => Stance::Sides,
        (false, true) => Stance::Own,
        (false, false) => Stance::Sides,
    }
}

/// The palette a little brighter or darker, warmer or colder, so that two of one set still differ.
fn shifted(colours: [Colour; 6], dice: &mut Dice) -> [Colour; 6] {
    let turn = dice.range(-0.05, 0.05);
    let lift = dice.range(-0.05, 0.05);
    colours.map(|c| Colour {
        red: (c.red + turn + lift).clamp(0.0, 1.0),
        green: (c.green + lift).clamp(0.0, 1.0),
        blue: (c.blue - turn + lift).clamp(0.0, 1.0),
        alpha: 1.0,
    })
}
