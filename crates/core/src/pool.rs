//! P: every clip of the library with the features of its text and of its picture.

use crate::belief::Agreement;
use crate::clip::{Clip, ClipId};
use crate::features::Features;

/// All (r', v') pairs; row i of both feature matrices belongs to clip i.
#[derive(Clone, Debug)]
pub struct Pool {
    clips: Vec<Clip>,
    text: Features,
    clip: Features,
    agreement: Agreement,
}

/// The parts of a pool do not belong together.
#[derive(Clone, Copy, Debug, PartialEq, Eq, thiserror::Error)]
#[error("{clips} clips need as many rows, not {text} of text and {clip} of clip features")]
pub struct PoolError {
    /// How many clips there are.
    pub clips: usize,
    /// How many rows the text features have.
    pub text: usize,
    /// How many rows the clip features have.
    pub clip: usize,
}

impl Pool {
    /// A pool of clips with the sentence features of their texts and F_M's features of their
    /// pictures.
    pub fn new(clips: Vec<Clip>, text: Features, clip: Features) -> Result<Self, PoolError> {
        let sizes = PoolError { clips: clips.len(), text: text.len(), clip: clip.len() };
        if sizes.text != sizes.clips || sizes.clip != sizes.clips {
            return Err(sizes);
        }
        Ok(Self { clips, text, clip, agreement: Agreement::default() })
    }

    /// The same, where it is known how far words and pictures agree.
    pub fn agreeing(self, agreement: Agreement) -> Self {
        Self { agreement, ..self }
    }

    /// How far words and pictures agree here; of no pairs where nobody has counted.
    pub fn agreement(&self) -> Agreement {
        self.agreement
    }

    /// How many clips there are.
    pub fn len(&self) -> usize {
        self.clips.len()
    }

    /// Whether there is no clip.
    pub fn is_empty(&self) -> bool {
        self.clips.is_empty()
    }

    /// All clips in row order.
    pub fn clips(&self) -> &[Clip] {
        &self.clips
    }

    /// One clip.
    pub fn clip(&self, id: ClipId) -> &Clip {
        &self.clips[id.row()]
    }

    /// Sentence features of the clips' step texts.
    pub fn text_features(&self) -> &Features {
        &self.text
    }

    /// F_M's features of the clips' pictures.
    pub fn clip_features(&self) -> &Features {
        &self.clip
    }
}
