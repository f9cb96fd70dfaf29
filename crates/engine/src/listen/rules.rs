//! Which token may come next, and how likely: the rules of Whisper's own decoder. Times come in
//! pairs and never run back, text stands between them, signs that are not said never come.

use stitch_nn::kernels::{self, vectorised};

use super::tokens::Tokens;

/// The first text begins within the first second of a window.
const FIRST_TICKS: u32 = 50;

/// Takes away what may not come next after these tokens (the prompt is not among them).
pub fn restrict(logits: &mut [f32], so_far: &[u32], tokens: &Tokens) {
    let mut forbid = |from: u32, to: u32| {
        let to = (to as usize).min(logits.len());
        logits[(from as usize).min(to)..to].fill(f32::NEG_INFINITY);
    };
    let (zero, end) = (tokens.zero(), tokens.count as u32);
    tokens.never.iter().for_each(|token| forbid(*token, token + 1));
    // Between text and times lie tokens that steer; none is ever written.
    forbid(tokens.end + 1, zero);
    let is_time = |token: Option<&u32>| token.is_some_and(|token| tokens.is_time(*token));
    let last_is_time = is_time(so_far.last());
    let before_is_time = so_far.len() < 2 || is_time(so_far.get(so_far.len() - 2));
    match (last_is_time, before_is_time) {
        // A pair is complete: text, or the end, follows.
        (true, true) => forbid(zero, end),
        // One of a pair: its other half, or the end.
        (true, false) => forbid(0, tokens.end),
        _ => {}
    }
    if let Some(last) = so_far.iter().rev().find(|token| tokens.is_time(**token)) {
        // A text must last, so its end is after its beginning; the next may begin where it ended.
        let opens = last_is_time && !before_is_time;
        forbid(zero, if opens { *last } else { last + 1 });
    }
    if so_far.is_empty() {
        tokens.never_first.iter().for_each(|token| forbid(*token, token + 1));
        forbid(0, zero);
        forbid(zero + FIRST_TICKS + 1, end);
    } else {
        prefer_time(logits, zero);
    }
}

/// If times together are likelier than any one text token, a time it is.
fn prefer_time(logits: &mut [f32], zero: u32) {
    let (texts, times) = logits.split_at_mut((zero as usize).min(logits.len()));
    let most = largest(texts);
    if log_sum(times) > most {
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
pub fn log_sum(logits: &[f32]) -> f32 {
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

/// The likeliest tokens, best first, each with the logarithm of its likelihood.
pub fn likeliest(logits: &[f32], count: usize) -> Vec<(u32, f32)> {
    let total = log_sum(logits);
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

/// A token by chance, the likelier the more often; with the logarithm of its likelihood.
pub fn drawn(logits: &[f32], temperature: f32, chance: &mut Chance) -> Option<(u32, f32)> {
    let token = chance.draw(logits, temperature)?;
    Some((token as u32, logits.get(token)? - log_sum(logits)))
}

/// Chance from a seed (splitmix64): the same sound gives the same text every time.
pub struct Chance(pub u64);

impl Chance {
    /// A number from 0 up to 1.
    fn next(&mut self) -> f32 {
        self.0 = self.0.wrapping_add(0x9e37_79b9_7f4a_7c15);
        let mut z = self.0;
        z = (z ^ (z >> 30)).wrapping_mul(0xbf58_476d_1ce4_e5b9);
        z = (z ^ (z >> 27)).wrapping_mul(0x94d0_49bb_1331_11eb);
        ((z ^ (z >> 31)) >> 40) as f32 / (1u64 << 24) as f32
    }

    fn draw(&mut self, logits: &[f32], temperature: f32) -> Option<usize> {
        let most = largest(logits);
        let share = |x: &f32| ((x - most) / temperature).exp();
        let mut left = self.next() * logits.iter().map(share).sum::<f32>();
        logits.iter().position(|x| {
            left -= share(x);
            left < 0.0
        })
    }
}
