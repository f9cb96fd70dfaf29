//! What a tower wants of the pictures it is shown.

/// How a picture of another shape becomes the tower's.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Fit {
    Squash,
    /// Scaled until it covers the tower's shape, and its middle cut out.
    Crop,
}

/// How a picture is resampled.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Filter {
    /// A triangle as wide as the reduction asks for.
    Bilinear,
    /// A cubic as wide as the reduction asks for.
    Bicubic,
}

/// The pictures a tower takes.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Wants {
    pub width: u32,
    pub height: u32,
    pub fit: Fit,
    pub filter: Filter,
    /// How many pictures of a second are looked at.
    pub fps: u32,
    /// How many consecutive pictures make one vector: more than one for a tower of clips, or for
    /// several towers that take turns.
    pub frames: usize,
    /// Whether those are seen together, as a clip; else a picture that shows the same as the one
    /// before it adds nothing.
    pub together: bool,
    /// How many vectors are made at once on a core: transformers are the faster for a few.
    pub batch: usize,
}

impl Wants {
    /// Of a tower that makes a vector of each picture.
    pub const fn pictures((width, height): (u32, u32), fit: Fit, filter: Filter, fps: u32) -> Self {
        Self { width, height, fit, filter, fps, frames: 1, together: false, batch: 4 }
    }

    /// The bytes of one picture: rows of red, green, blue.
    pub fn bytes(&self) -> usize {
        3 * self.width as usize * self.height as usize
    }
}
