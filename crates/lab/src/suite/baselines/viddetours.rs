//! VidDetours (Ashutosh et al., CVPR 2024): from what was watched so far and a question, the video and
//! the window to go on with.
//!
//! Faithful: the sequence of past clips and the text predict the next clip's embedding, with a
//! contrastive loss; a head on the same representation says where in its video the window is. Adapted:
//! their question is a viewer's and their window has two ends; here the question is the next step, and
//! the window is the place of a given clip, in tenths of its video. A sequence scores the mean
//! log-likelihood that the network gives its clips: cosine over temperature, plus the place's. It is
//! trained on the procedures of the training part; where detour annotations are read, their procedures
//! are among them.

use super::fusion::{Form, TEMPERATURE};

/// Trained on whole procedures: h(v_1..v_{i-1}, r_i) against v_i, and the place of v_i.
pub const FORM: Form = Form {
    name: "viddetours",
    past: 6,
    hard_negatives: None,
    window: true,
    score: |cosine, place| cosine / TEMPERATURE + place,
};
