//! The method of Stitch-a-Demo, pure: from a written procedure and a pool of clips to the cuts
//! of one video that demonstrates it.
//!
//! The modules stand in the order in which the method uses them, and import only upward:
//!
//! | module | the paper's symbol | what it holds |
//! |---|---|---|
//! | [`procedure`] | R | the query: an ordered list of step texts |
//! | [`clip`] | v' | a span of a video and the step text it shows |
//! | [`features`] | F_M(·) | rows of unit vectors and their similarities |
//! | [`pool`] | P | every clip of the library with its text and clip features |
//! | [`align`] | F_T | Drop-DTW: where in a video is each step? |
//! | [`map`] | M | for each step of the query the clips that may show it |
//! | [`cover`] | V'_R | candidate sequences: few sources that together show every step |
//! | [`timeline`] | V_R | the chosen sequence as cuts |
//!
//! Nothing here reads files, starts threads, looks at the clock or prints.

pub mod procedure;
pub mod clip;
pub mod features;
pub mod pool;
pub mod align;
pub mod map;
pub mod cover;
pub mod timeline;
