//! CoVR (Ventura et al., AAAI 2024): composed retrieval, from a clip and a text to the clip that comes.
//!
//! Faithful: one fused embedding of the previous clip and the text, by attention of the two to each
//! other; a contrastive loss over the batch in which hard negatives weigh more (their HN-NCE). A
//! sequence scores the mean cosine of predictions and clips. Adapted: their fusion is BLIP's, trained
//! on millions of triplets; ours is a small one over the frozen features that every method here gets,
//! which starts from the step's own text and reads its prediction off a learnt token that every sequence
//! has; the first step has no clip beside these. The pairs are the consecutive clips of the training
//! procedures.

use super::fusion::Form;

/// Trained on consecutive clips: g(v_{i-1}, r_i) against v_i.
pub const FORM: Form = Form {
    name: "covr",
    past: 1,
    hard_negatives: Some(0.5),
    window: false,
    score: |cosine, _| cosine,
};
