//! Which token may come next, and how likely: the rules of Whisper's own decoder. Times come in
//! pairs and never run back, text stands between them, suppressed tokens never come.

use stitch_core::random::SplitMix64;
use stitch_nn::kernels::{self, vectorised};

use super::vocabulary::Vocabulary;

/// The first text begins within the first second of a window: the largest first timestamp.
const MAX_FIRST_TIMESTAMP: u32 = 50;

/// Masks what may not come next after these tokens (the prompt is not among them).
pub fn forbid_tokens(logits: &mut [f32], so_far: &[u32], vocabulary: &Vocabulary) {
    let mut forbid = |from: u32, to: u32| {
        let to = (to as usize).min(logits.len());
        logits[(from as usize).min(to)..to].fill(f32::NEG_INFINITY);
    };
    let (zero, end) = (vocabulary.time_zero(), vocabulary.count as u32);
    vocabulary.suppressed.iter().for_each(|token| forbid(*token, token + 1));
    // Between text and times lie tokens that steer; none is ever written.
    forbid(vocabulary.end + 1, zero);
    let is_time = |token: Option<&u32>| token.is_some_and(|token| vocabulary.is_time(*token));
    let last_is_time = is_time(so_far.last());
    let before_is_time = so_far.len() < 2 || is_time(so_far.get(so_far.len() - 2));
    match (last_is_time, before_is_time) {
        // A pair is complete: text, or the end, follows.
        (true, true) => forbid(zero, end),
        // One of a pair: its other half, or the end.
        (true, false) => forbid(0, vocabulary.end),
        _ => {}
    }
    if let Some(last) = so_far.iter().rev().find(|token| vocabulary.is_time(**token)) {
        // A text must last, so its end is after its beginning; the next may begin where it ended.
        let opens = last_is_time && !before_is_time;
        forbid(zero, if opens { *last } else { last + 1 });
    }
    if so_far.is_empty() {
        vocabulary.suppressed_first.iter().for_each(|token| forbid(*token, token + 1));
        forbid(0, zero);
        forbid(zero + MAX_FIRST_TIMESTAMP + 1, end);
    } else {
        prefer_time(logits, zero);
    }
}

/// If times together are likelier than any one text token, a time it is.
fn prefer_time(logits: &mut [f32], zero: u32) {
    let (texts, times) = logits.split_at_mut((zero as usize).min(logits.len()));
    let most = largest(texts);
    if log_sum_exp(times) > most {
        texts.fill(f32::NEG_INFINITY);
    }
}

fn largest(logits: &[f32]) -> f32 {
    vectorised(
        #[inline(always)]
        || kernels::largest(logits),
    )
}

/// ln Σ e^x
pub fn log_sum_exp(logits: &[f32]) -> f32 {
    let most = largest(logits);
    if most == f32::NEG_INFINITY {
        return most;
    }
    most + vectorised(
        #[inline(always)]
        || kernels::sum(logits, |x| kernels::exp(x - most)),
    )
    .ln()
}

/// The likeliest tokens, best first, each with its log probability.
pub fn top_tokens(logits: &[f32], count: usize) -> Vec<(u32, f32)> {
    let total = log_sum_exp(logits);
    let mut best: Vec<(u32, f32)> = Vec::with_capacity(count + 1);
    let mut least = f32::NEG_INFINITY;
    for (token, logit) in logits.iter().enumerate() {
        if *logit > least {
            let place = best.partition_point(|(_, other)| other >= logit);
            best.insert(place, (token as u32, *logit));
            best.truncate(count);
            if best.len() == count {
                least = best[count - 1].1;
            }
        }
    }
    best.into_iter().map(|(token, logit)| (token, logit - total)).collect()
}

/// A token sampled from the softmax at a temperature, with its log probability.
pub fn sample(logits: &[f32], temperature: f32, random: &mut SplitMix64) -> Option<(u32, f32)> {
    let most = largest(logits);
    let weight = |x: &f32| ((x - most) / temperature).exp();
    let mut left = random.unit() * logits.iter().map(weight).sum::<f32>();
    let token = logits.iter().position(|x| {
        left -= weight(x);
        left < 0.0
    })?;
    Some((token as u32, logits[token] - log_sum_exp(logits)))
}
