//! Colours, and how they darken, lighten and mix.

use tiny_skia::Color;

/// A colour with opacity, each part in 0..=1.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Colour {
    pub red: f32,
    pub green: f32,
    pub blue: f32,
    pub alpha: f32,
}

/// The opaque colour 0xRRGGBB.
pub const fn rgb(hex: u32) -> Colour {
    Colour {
        red: ((hex >> 16) & 255) as f32 / 255.0,
        green: ((hex >> 8) & 255) as f32 / 255.0,
        blue: (hex & 255) as f32 / 255.0,
        alpha: 1.0,
    }
}

/// White, for highlights.
pub const WHITE: Colour = rgb(0xffffff);
/// The colour of shadows: never quite black.
pub const SHADE: Colour = rgb(0x1d1420);

impl Colour {
    /// The same colour, `alpha` times as opaque.
    pub fn fade(self, alpha: f32) -> Self {
        Colour { alpha: (self.alpha * alpha).clamp(0.0, 1.0), ..self }
    }

    /// From this colour to `other` as `t` goes from 0 to 1.
    pub fn mix(self, other: Colour, t: f32) -> Self {
        let t = t.clamp(0.0, 1.0);
        let part = |a: f32, b: f32| a + (b - a) * t;
        Colour {
            red: part(self.red, other.red),
            green: part(self.green, other.green),
            blue: part(self.blue, other.blue),
            alpha: part(self.alpha, other.alpha),
        }
    }

    /// Darker, and a little towards the shade's violet as shadows are.
    pub fn dark(self, t: f32) -> Self {
        self.mix(Colour { alpha: self.alpha, ..rgb(0x2a1430) }, t)
    }

    /// Lighter, and a little warm.
    pub fn light(self, t: f32) -> Self {
        self.mix(Colour { alpha: self.alpha, ..rgb(0xfffaf0) }, t)
    }

    /// How bright it looks, 0..=1.
    pub fn brightness(self) -> f32 {
        0.299 * self.red + 0.587 * self.green + 0.114 * self.blue
    }

    /// For the drawing library, `alpha` times as opaque.
    pub fn skia(self, alpha: f32) -> Color {
        let c = |v: f32| v.clamp(0.0, 1.0);
        Color::from_rgba(c(self.red), c(self.green), c(self.blue), c(self.alpha * alpha))
            .unwrap_or(Color::TRANSPARENT)
    }
}
