//! The error for an option that is out of range.

/// An option that is out of range.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[error("{option} must be {allowed}")]
pub struct OptionError {
    pub(crate) option: &'static str,
    pub(crate) allowed: String,
}

/// An error unless the value is from `min` to `max`; NaN is not.
pub(crate) fn within(
    option: &'static str,
    value: f64,
    [min, max]: [f64; 2],
    unit: &str,
) -> Result<(), OptionError> {
    match (min..=max).contains(&value) {
        true => Ok(()),
        false => Err(OptionError { option, allowed: format!("from {min} to {max}{unit}") }),
    }
}

/// Milliseconds as seconds, for messages.
pub(crate) fn seconds(ms: u64) -> f64 {
    ms as f64 / 1000.0
}
