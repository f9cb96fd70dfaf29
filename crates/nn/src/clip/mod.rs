//! The CLIP family: CLIP, SigLIP and SigLIP2 in Hugging Face's form, MobileCLIP in OpenCLIP's.

pub mod normalize;
pub mod config;
pub mod text;
mod fused_kernel;
mod convolution;
mod fastvit;
mod vit;
pub mod image;
pub mod mobileclip;
