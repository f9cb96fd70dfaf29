//! What a seed decides about a place: colours, layout, camera, tools and the presenter.

use super::brush::{Colour, Point, rgb};
use super::easing::lerp;
use super::palette::{self, BOARDS, CLOTHS, HAIRS, HANDLES, METALS, SKINS, WARES};
use crate::random::{SplitMix64, seeded};
use crate::vocabulary::Domain;

/// Where the presenter stands.
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

/// Everything that differs from place to place.
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
    /// Large numbers; their remainders choose the wall, the surface and the decoration.
    pub wall_kind: usize,
    pub surface_kind: usize,
    pub decor: u64,
    /// Height over width of a circle lying on the surface: small is a low camera, large a high one.
    pub tilt: f32,
    /// -1 for light from the left, 1 from the right.
    pub light: f32,
    pub glow: Colour,
    pub vignette: f32,
    /// Whether actions are drawn mirrored.
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
    /// A large number; its remainders choose the shapes of boards, knives, pans and the like.
    pub tool_kind: usize,
}

impl Look {
    pub fn new(domain: Domain, seed: u64) -> Look {
        let mut random = seeded(seed.wrapping_mul(3).wrapping_add(domain as u64));
        let colours = palette::palette(domain, random.below(1 << 16)).map(rgb);
        let [wall, trim, surface, front, accent, accent2] = shifted(colours, &mut random);
        let (skin, sleeve, apron) =
            (*random.pick(&SKINS), *random.pick(&CLOTHS), *random.pick(&CLOTHS));
        let tilt = *random.pick(&[0.36, 0.42, 0.5, 0.58, 0.66]) + random.range(-0.02, 0.02);
        let mut look = Look {
            domain,
            seed,
            wall,
            trim,
            surface,
            front,
            accent,
            accent2,
            wall_kind: random.below(1 << 16),
            surface_kind: random.below(1 << 16),
            decor: random.next_u64(),
            tilt,
            light: *random.pick(&[-1.0, 1.0]),
            glow: *random.pick(&[rgb(0xffdc9c), rgb(0xffe9c8), rgb(0xd5e8ff), rgb(0xffc98a)]),
            vignette: *random.pick(&[0.0, 0.0, 0.1, 0.16]),
            mirror: random.chance(0.5),
            zoom: random.range(1.16, 1.32),
            shake: *random.pick(&[0.0, 2.0, 5.0]),
            stance: stance_for(tilt, &mut random),
            skin,
            sleeve,
            sleeve_length: *random.pick(&[0.05, 0.35, 0.7]),
            apron,
            hair: hair_for(skin, &mut random),
            hair_style: random.below(7),
            beard: random.chance(0.28),
            glasses: random.chance(0.3),
            hat: random.below(4),
            build: random.range(0.92, 1.1),
            handle: *random.pick(&HANDLES),
            metal: *random.pick(&METALS),
            ware: *random.pick(&WARES),
            ware2: *random.pick(&WARES),
            board: *random.pick(&BOARDS),
            tool_kind: random.below(1 << 16),
        };
        look.keep_apart();
        look
    }

    /// Where the surface ends at the back.
    pub fn horizon(&self) -> f32 {
        lerp(400.0, 150.0, (self.tilt - 0.36) / 0.3)
    }

    /// Where the surface ends at the back, in the action space.
    pub fn back(&self) -> f32 {
        (self.horizon() - self.focus().1) / self.zoom
    }

    /// The point of the surface where the work stands.
    pub fn focus(&self) -> Point {
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
fn hair_for(skin: Colour, random: &mut SplitMix64) -> Colour {
    let hair = *random.pick(&HAIRS);
    let fair = hair.brightness() > skin.brightness() * 0.8 && hair.red - hair.blue > 0.1;
    if fair { HAIRS[0] } else { hair }
}

fn stance_for(tilt: f32, random: &mut SplitMix64) -> Stance {
    match (tilt < 0.55, random.chance(0.6)) {
        (true, true) => Stance::Facing,
        (true, false) => Stance::Sides,
        (false, true) => Stance::Own,
        (false, false) => Stance::Sides,
    }
}

/// The palette a little brighter or darker, warmer or colder, so that two of one set still differ.
fn shifted(colours: [Colour; 6], random: &mut SplitMix64) -> [Colour; 6] {
    let turn = random.range(-0.05, 0.05);
    let lift = random.range(-0.05, 0.05);
    colours.map(|c| Colour {
        red: (c.red + turn + lift).clamp(0.0, 1.0),
        green: (c.green + lift).clamp(0.0, 1.0),
        blue: (c.blue - turn + lift).clamp(0.0, 1.0),
        alpha: 1.0,
    })
}
