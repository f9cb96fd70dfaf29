//! The feature file of one video as it is on disk, for readers that take rows without a copy.

use std::ops::Range;

use safetensors::tensor::Dtype;
use stitch_core::clip::VideoId;

use super::features::Tensors;
use super::{Library, LibraryError};

/// A memory-mapped feature file.
pub struct MappedFeatures {
    tensors: Tensors<'static>,
    pub matrices: Vec<MappedMatrix>,
}

/// A matrix of little-endian f16 numbers in the file, row-major.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct MappedMatrix {
    pub name: String,
    pub rows: usize,
    pub dim: usize,
    bytes: Range<usize>,
}

impl MappedFeatures {
    pub fn bytes(&self, matrix: &MappedMatrix) -> &[u8] {
        &self.tensors.bytes()[matrix.bytes.clone()]
    }
}

impl Library {
    /// The features of a video: those of its seconds (`seconds`), of its clips (`text`, `clip`) and of their moments.
    pub fn map_features(&self, video: VideoId) -> Result<MappedFeatures, LibraryError> {
        let file = self.feature_file(video)?;
        let tensors = Tensors::open(&file.path(&self.folder))?;
        tensors.check(file.sha256.as_deref())?;
        let start = tensors.bytes().as_ptr() as usize;
        let views = tensors.tensors()?;
        let matrix = |(name, view): (String, safetensors::tensor::TensorView<'_>)| {
            let (Dtype::F16, &[rows, dim]) = (view.dtype(), view.shape()) else { return None };
            let from = view.data().as_ptr() as usize - start;
            Some(MappedMatrix { name, rows, dim, bytes: from..from + view.data().len() })
        };
        let matrices = views.tensors().into_iter().filter_map(matrix).collect();
        Ok(MappedFeatures { matrices, tensors })
    }
}
