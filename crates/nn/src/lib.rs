//! Every network, forward and backward, on CPU and GPU: weights in, arrays out.

pub mod error;
pub mod weights;
pub mod tokenizer;
pub mod onnx;
pub mod kernels;
pub mod codes;
mod matrix;
pub mod layers;
pub mod transformer;
pub mod bert;
pub mod projection;
pub mod vad;
pub mod whisper;
pub mod clip;
pub mod ocr;
pub mod evaluator;

pub use error::{FileError, NnError};
