//! How values change over time: easing, linear interpolation and sine waves.

/// Smoothstep: from 0 to 1 while `t` goes from `from` to `to`.
pub fn ease(t: f32, from: f32, to: f32) -> f32 {
    let x = ((t - from) / (to - from)).clamp(0.0, 1.0);
    x * x * (3.0 - 2.0 * x)
}

pub fn lerp(a: f32, b: f32, t: f32) -> f32 {
    a + (b - a) * t
}

/// A sine between -1 and 1, `rate` periods a second.
pub fn wave(seconds: f32, rate: f32) -> f32 {
    (seconds * rate * std::f32::consts::TAU).sin()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn ease_starts_at_nought_and_ends_at_one() {
        assert_eq!((ease(0.1, 0.2, 0.4), ease(0.5, 0.2, 0.4)), (0.0, 1.0));
    }
}
