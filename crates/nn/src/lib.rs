//! Every network, forward and backward, on CPU and GPU: weights in, arrays out.

pub mod files;
pub mod weights;
pub mod tokenizer;
pub mod onnx;
pub mod kernels;
pub mod mpnet;
pub mod projection;
pub mod whisper;
pub mod clip;
pub mod evaluator;

pub use candle_core::Error as TensorError;
