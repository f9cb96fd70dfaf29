//! The CLIP family: CLIP, SigLIP and SigLIP2 in Hugging Face's form, MobileCLIP in OpenCLIP's.

pub mod normalize;
mod transformer;
pub mod config;
pub mod text;
pub mod image;
mod fused_kernel;
mod convolution;
mod fastvit;
mod vit;
pub mod mobileclip;
