//! The image encoder of the family: from pictures of RGB bytes to one row for each.

use super::config::{Family, ImageConfig};
use super::convolution::Grid;
use super::fastvit::FastVit;
use super::normalize::Normalize;
use super::vit::Vit;
use crate::error::NnError;
use crate::weights::Weights;

pub struct ImageEncoder {
    pub(super) network: ImageNetwork,
    pub(super) normalize: Normalize,
    /// The side of the square picture.
    pub(super) side: usize,
}

pub(super) enum ImageNetwork {
    FastVit(FastVit),
    Vit(Vit),
}

impl ImageEncoder {
    /// The image encoder of a file in Hugging Face's form.
    pub fn load(
        weights: &Weights,
        family: Family,
        config: &ImageConfig,
        normalize: Normalize,
    ) -> Result<Self, NnError> {
        let network = ImageNetwork::Vit(Vit::load(weights, family, config)?);
        Ok(Self { network, normalize, side: config.image })
    }

    /// \[pictures, dim\]
    pub fn forward(&self, pictures: &[&[u8]]) -> Vec<f32> {
        if pictures.is_empty() {
            return Vec::new();
        }
        let bytes = pictures.iter().flat_map(|picture| picture.iter().enumerate());
        let values = bytes.map(|(i, byte)| self.normalize.value(*byte, i % 3));
        let pixels: Vec<f32> = values.collect(); // [pixels, 3]
        let grid = Grid { count: pictures.len(), height: self.side, width: self.side };
        match &self.network {
            ImageNetwork::FastVit(network) => network.forward(&pixels, grid),
            ImageNetwork::Vit(network) => network.forward(&pixels, grid),
        }
    }
}
