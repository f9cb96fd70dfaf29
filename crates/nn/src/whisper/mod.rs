//! Whisper's network, the spectra it takes, and the small network that finds speech.

mod layers;
pub mod spectrum;
pub mod voice;
pub mod network;
