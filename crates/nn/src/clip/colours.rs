//! From the bytes of a picture to the numbers that a tower takes.

/// What bytes of red, green and blue become before a tower takes them: byte · scale + shift.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Colours {
    scale: [f32; 3],
    shift: [f32; 3],
}

impl Colours {
    /// From the factor that brings bytes to 0 to 1, and means and deviations on that scale.
    pub fn new(factor: f64, mean: [f64; 3], std: [f64; 3]) -> Self {
        let each = |of: &dyn Fn(usize) -> f64| [of(0) as f32, of(1) as f32, of(2) as f32];
        Self { scale: each(&|c| factor / std[c]), shift: each(&|c| -mean[c] / std[c]) }
    }

    /// What a byte of this colour becomes.
    pub fn value(&self, byte: u8, colour: usize) -> f32 {
        f32::from(byte) * self.scale[colour] + self.shift[colour]
    }

    /// One colour of a picture.
    pub fn plane(&self, rgb: &[u8], colour: usize) -> Vec<f32> {
        rgb.iter().skip(colour).step_by(3).map(|byte| self.value(*byte, colour)).collect()
    }
}
