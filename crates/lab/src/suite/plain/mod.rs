//! Sets in the plain format: one file with videos and their steps, and pictures or features beside it,
//! so that anyone can bring a set by writing `videos.jsonl`.

pub mod tar;
pub mod set;
pub mod look;
pub mod rows;
pub mod gather;
