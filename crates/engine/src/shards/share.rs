//! The share of the videos that a worker indexes.

use std::str::FromStr;

use super::{Result, ShardError};

/// Every N-th video of the sorted list, from the I-th on.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Share {
    /// From 1 to the number of shares.
    number: usize,
    of: usize,
}

impl Share {
    pub const ALL: Self = Self { number: 1, of: 1 };

    pub(super) fn select<T>(self, all: Vec<T>) -> Vec<T> {
        all.into_iter().skip(self.number - 1).step_by(self.of).collect()
    }
}

impl FromStr for Share {
    type Err = ShardError;

    /// `I/N`
    fn from_str(given: &str) -> Result<Self> {
        let parts = given.split_once('/').map(|(number, of)| (number.parse(), of.parse()));
        match parts {
            Some((Ok(number), Ok(of))) if (1..=of).contains(&number) => Ok(Self { number, of }),
            _ => Err(ShardError::NotAShare { given: given.into() }),
        }
    }
}
