//! The parts of a layer on rows of numbers, each with its way back: bias, residual, dropout, activation,
//! layer norm.
//!
//! By hand and not by a tensor library, whose unfused norm and softmax make a training step take two
//! and a half times as long.

use rayon::prelude::*;

use super::dropout::Mask;
use super::matrix::{Cores, by_columns, by_rows};
use crate::kernels::{Activation, add, dot, exp, gelu, sum};

/// Keeps the division in a norm finite.
const EPS: f32 = 1e-5;

/// x + bias, in every row.
pub(super) fn add_bias(x: &mut [f32], bias: &[f32], cores: Cores) {
    by_rows(
        x,
        bias.len(),
        cores,
        #[inline(always)]
        |_, part| part.chunks_exact_mut(bias.len()).for_each(|row| add(row, bias)),
    );
}

/// x becomes residual + dropped(x + bias).
pub(super) fn join(
    x: &mut [f32],
    bias: &[f32],
    residual: &[f32],
    mask: Option<Mask>,
    cores: Cores,
) {
    let width = bias.len();
    by_rows(
        x,
        width,
        cores,
        #[inline(always)]
        |first, part| {
            let rows = part.chunks_exact_mut(width).zip(residual[first..].chunks_exact(width));
            for (number, (row, residual)) in rows.enumerate() {
                let index = (first + number * width) as u32;
                match mask {
                    None => {
                        row.iter_mut().zip(bias).zip(residual).for_each(|((x, b), r)| *x += b + r)
                    }
                    Some(mask) => {
                        for (i, ((x, b), r)) in row.iter_mut().zip(bias).zip(residual).enumerate() {
                            *x = r + (*x + b) * mask.factor(index + i as u32);
                        }
                    }
                }
            }
        },
    );
}

/// x with some numbers left out, in place.
pub(super) fn drop_out(x: &mut [f32], width: usize, mask: Option<Mask>, cores: Cores) {
    let Some(mask) = mask else { return };
    by_rows(
        x,
        width,
        cores,
        #[inline(always)]
        |first, part| {
            for (i, x) in part.iter_mut().enumerate() {
                *x *= mask.factor((first + i) as u32);
            }
        },
    );
}

/// x becomes dropped(activation(x + bias)); with GELU the sums themselves go to `before`.
pub(super) fn activate(
    x: &mut [f32],
    bias: &[f32],
    before: &mut Vec<f32>,
    activation: Activation,
    mask: Option<Mask>,
    cores: Cores,
) {
    let width = bias.len();
    if activation == Activation::Gelu {
        add_bias(x, bias, cores);
        before.clear();
        before.extend_from_slice(x);
    }
    by_rows(
        x,
        width,
        cores,
        #[inline(always)]
        |first, part| match activation {
            Activation::Relu => {
                for row in part.chunks_exact_mut(width) {
                    row.iter_mut().zip(bias).for_each(|(x, b)| *x = (*x + b).max(0.0));
                }
                mask_part(part, first, mask);
            }
            Activation::Gelu => {
                part.iter_mut().for_each(|x| *x = gelu(*x));
                mask_part(part, first, mask);
            }
        },
    );
}

#[inline(always)]
fn mask_part(part: &mut [f32], first: usize, mask: Option<Mask>) {
    let Some(mask) = mask else { return };
    for (i, x) in part.iter_mut().enumerate() {
        *x *= mask.factor((first + i) as u32);
    }
}

/// The way back through [`activate`]: from the gradient of its result to that of its sums.
pub(super) fn activate_back(
    gradient: &mut [f32],
    result: &[f32],
    before: &[f32],
    activation: Activation,
    mask: Option<Mask>,
    width: usize,
    cores: Cores,
) {
    let scale = mask.map_or(1.0, |mask| mask.scale);
    by_rows(
        gradient,
        width,
        cores,
        #[inline(always)]
        |first, part| match activation {
            // What was left out and what was negative are both 0 in the result.
            Activation::Relu => part.iter_mut().zip(&result[first..]).for_each(|(g, y)| {
                *g *= if *y > 0.0 { scale } else { 0.0 };
            }),
            Activation::Gelu => {
                mask_part(part, first, mask);
                part.iter_mut().zip(&before[first..]).for_each(|(g, x)| *g *= gelu_slope(*x));
            }
        },
    );
}

/// Φ(x) + x·φ(x)
#[inline(always)]
fn gelu_slope(x: f32) -> f32 {
    const SCALE: f32 = 0.398_942_3; // 1 / √(2π)
    let below = if x.abs() > 1e-3 { gelu(x) / x } else { 0.5 + SCALE * x };
    below + x * SCALE * exp(-0.5 * x * x)
}

/// y = the norm of every row of x. x is left as the rows at mean 0 and variance 1, `scales` as what
/// they were multiplied by for that: the way back needs both.
pub(super) fn norm(
    x: &mut [f32],
    y: &mut [f32],
    scales: &mut [f32],
    (weight, bias): (&[f32], &[f32]),
    cores: Cores,
) {
    let width = weight.len();
    let share = cores.share(scales.len(), width);
    let work = |((x, y), scales): ((&mut [f32], &mut [f32]), &mut [f32])| {
        pulp::Arch::new().dispatch(
            #[inline(always)]
            || {
                let rows = x.chunks_exact_mut(width).zip(y.chunks_exact_mut(width)).zip(scales);
                rows.for_each(|((x, y), scale)| *scale = norm_row(x, y, weight, bias));
            },
        );
    };
    let parts = x.par_chunks_mut(share * width).zip(y.par_chunks_mut(share * width));
    parts.zip(scales.par_chunks_mut(share)).for_each(work);
}

#[inline(always)]
fn norm_row(x: &mut [f32], y: &mut [f32], weight: &[f32], bias: &[f32]) -> f32 {
    let count = x.len() as f32;
    let mean = sum(x, |x| x) / count;
    let variance = sum(x, |x| (x - mean) * (x - mean)) / count;
    let scale = 1.0 / (variance + EPS).sqrt();
    for (((x, y), w), b) in x.iter_mut().zip(y).zip(weight).zip(bias) {
        *x = (*x - mean) * scale;
        *y = *x * w + b;
    }
    scale
}

/// What [`norm`] left behind.
#[derive(Clone, Copy)]
pub(super) struct Normed<'a> {
    pub rows: &'a [f32],
    pub scales: &'a [f32],
    pub weight: &'a [f32],
}

/// The way back through [`norm`]: `gradient` from that of its result to that of its rows.
pub(super) fn norm_back(
    gradient: &mut [f32],
    normed: Normed<'_>,
    (of_weight, of_bias): (&mut [f32], &mut [f32]),
    cores: Cores,
) {
    let width = normed.weight.len();
    column_sums(gradient, of_bias, cores);
    product_sums(gradient, normed.rows, of_weight, cores);
    by_rows(
        gradient,
        width,
        cores,
        #[inline(always)]
        |first, part| {
            let scales = &normed.scales[first / width..];
            let rows = normed.rows[first..].chunks_exact(width);
            for ((gradient, row), scale) in part.chunks_exact_mut(width).zip(rows).zip(scales) {
                norm_back_row(gradient, row, normed.weight, *scale);
            }
        },
    );
}

#[inline(always)]
fn norm_back_row(gradient: &mut [f32], row: &[f32], weight: &[f32], scale: f32) {
    gradient.iter_mut().zip(weight).for_each(|(g, w)| *g *= w);
    let count = row.len() as f32;
    let mean = sum(gradient, |g| g) / count;
    let along = dot(gradient, row) / count;
    gradient.iter_mut().zip(row).for_each(|(g, x)| *g = scale * (*g - mean - x * along));
}

/// The sum of every column, each by one core, so that it is the same however many there are.
pub(super) fn column_sums(rows: &[f32], out: &mut [f32], cores: Cores) {
    let width = out.len();
    by_columns(
        out,
        rows.len(),
        cores,
        #[inline(always)]
        |first, out| {
            out.fill(0.0);
            for row in rows.chunks_exact(width) {
                out.iter_mut().zip(&row[first..]).for_each(|(sum, x)| *sum += x);
            }
        },
    );
}

/// The sum over rows of a·b, for every column.
fn product_sums(a: &[f32], b: &[f32], out: &mut [f32], cores: Cores) {
    let width = out.len();
    by_columns(
        out,
        a.len(),
        cores,
        #[inline(always)]
        |first, out| {
            out.fill(0.0);
            for (a, b) in a.chunks_exact(width).zip(b.chunks_exact(width)) {
                let both = a[first..].iter().zip(&b[first..]);
                out.iter_mut().zip(both).for_each(|(sum, (a, b))| *sum += a * b);
            }
        },
    );
}
