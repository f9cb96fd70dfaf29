//! From the bytes of a picture to the values that an image encoder takes.

/// Normalisation by the mean and standard deviation of each channel: byte · scale + shift.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Normalize {
    scale: [f32; 3],
    shift: [f32; 3],
}

impl Normalize {
    /// From the factor that brings bytes to 0 to 1, and means and deviations on that scale.
    pub fn new(factor: f64, mean: [f64; 3], std: [f64; 3]) -> Self {
        let each = |of: &dyn Fn(usize) -> f64| [of(0) as f32, of(1) as f32, of(2) as f32];
        Self { scale: each(&|c| factor / std[c]), shift: each(&|c| -mean[c] / std[c]) }
    }

    pub fn value(&self, byte: u8, channel: usize) -> f32 {
        f32::from(byte) * self.scale[channel] + self.shift[channel]
    }

    /// All values of one channel of a picture.
    pub fn plane(&self, rgb: &[u8], channel: usize) -> Vec<f32> {
        rgb.iter().skip(channel).step_by(3).map(|byte| self.value(*byte, channel)).collect()
    }
}
