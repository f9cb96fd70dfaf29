//! The parts of a layer, each with its backward pass: bias, residual, dropout, activation, layer norm.
//!
//! By hand and not by a tensor library, whose unfused norm and softmax make a training step take two
//! and a half times as long.

use rayon::prelude::*;

use super::activations::NormCache;
use super::dropout::Mask;
use crate::kernels::{Activation, add, dot, exp, gelu, mean_and_rstd, simd, sum};
use crate::matrix::{Cores, in_shares};

/// Keeps the division in a layer norm finite.
const EPS: f32 = 1e-5;

/// x + bias, in every row.
pub(super) fn add_bias(x: &mut [f32], bias: &[f32], cores: Cores) {
    in_shares!(x, cores.row_share(x.len(), bias.len()), |_, part| {
        part.chunks_exact_mut(bias.len()).for_each(|row| add(row, bias));
    });
}

/// x becomes residual + dropout(x + bias).
pub(super) fn add_residual(
    x: &mut [f32],
    bias: &[f32],
    residual: &[f32],
    mask: Option<Mask>,
    cores: Cores,
) {
    let width = bias.len();
    in_shares!(x, cores.row_share(x.len(), width), |first, part| {
        let rows = part.chunks_exact_mut(width).zip(residual[first..].chunks_exact(width));
        for (number, (row, residual)) in rows.enumerate() {
            let index = (first + number * width) as u32;
            let values = row.iter_mut().zip(bias).zip(residual);
            match mask {
                None => values.for_each(|((x, b), r)| *x += b + r),
                Some(mask) => values.enumerate().for_each(|(i, ((x, b), r))| {
                    *x = r + (*x + b) * mask.factor(index + i as u32);
                }),
            }
        }
    });
}

pub(super) fn apply_dropout(x: &mut [f32], width: usize, mask: Option<Mask>, cores: Cores) {
    if mask.is_some() {
        in_shares!(x, cores.row_share(x.len(), width), |first, part| apply_mask(part, first, mask));
    }
}

#[inline(always)]
fn apply_mask(part: &mut [f32], first: usize, mask: Option<Mask>) {
    let Some(mask) = mask else { return };
    for (i, x) in part.iter_mut().enumerate() {
        *x *= mask.factor((first + i) as u32);
    }
}

/// x becomes dropout(activation(x + bias)); with GELU x + bias goes to `pre`.
pub(super) fn activate(
    x: &mut [f32],
    bias: &[f32],
    pre: &mut Vec<f32>,
    activation: Activation,
    mask: Option<Mask>,
    cores: Cores,
) {
    if activation == Activation::Gelu {
        add_bias(x, bias, cores);
        pre.clear();
        pre.extend_from_slice(x);
    }
    in_shares!(x, cores.row_share(x.len(), bias.len()), |first, part| {
        match activation {
            Activation::Gelu => activation.apply(part),
            Activation::Relu => {
                for row in part.chunks_exact_mut(bias.len()) {
                    row.iter_mut().zip(bias).for_each(|(x, b)| *x = (*x + b).max(0.0));
                }
            }
        }
        apply_mask(part, first, mask);
    });
}

/// The backward pass of [`activate`]: from the gradient of its result to that of x + bias.
pub(super) fn activate_backward(
    gradient: &mut [f32],
    result: &[f32],
    pre: &[f32],
    activation: Activation,
    mask: Option<Mask>,
    width: usize,
    cores: Cores,
) {
    let scale = mask.map_or(1.0, |mask| mask.scale);
    in_shares!(gradient, cores.row_share(gradient.len(), width), |first, part| match activation {
        // What was dropped and what was negative are both 0 in the result.
        Activation::Relu => part.iter_mut().zip(&result[first..]).for_each(|(g, y)| {
            *g *= if *y > 0.0 { scale } else { 0.0 };
        }),
        Activation::Gelu => {
            apply_mask(part, first, mask);
            part.iter_mut().zip(&pre[first..]).for_each(|(g, x)| *g *= gelu_slope(*x));
        }
    });
}

/// Φ(x) + x·φ(x)
#[inline(always)]
fn gelu_slope(x: f32) -> f32 {
    const SCALE: f32 = 0.398_942_3; // 1 / √(2π)
    let below = if x.abs() > 1e-3 { gelu(x) / x } else { 0.5 + SCALE * x };
    below + x * SCALE * exp(-0.5 * x * x)
}

impl NormCache {
    /// The layer norm of `rows` into y.
    pub fn forward(&mut self, y: &mut Vec<f32>, (weight, bias): (&[f32], &[f32]), cores: Cores) {
        let width = weight.len();
        self.rstd.resize(self.rows.len() / width, 0.0);
        y.resize(self.rows.len(), 0.0);
        let share = cores.share(self.rstd.len(), width);
        let work = |((x, y), rstd): ((&mut [f32], &mut [f32]), &mut [f32])| {
            simd!({
                let rows = x.chunks_exact_mut(width).zip(y.chunks_exact_mut(width)).zip(rstd);
                rows.for_each(|((x, y), rstd)| *rstd = norm_row(x, y, weight, bias));
            });
        };
        let rows = self.rows.par_chunks_mut(share * width).zip(y.par_chunks_mut(share * width));
        rows.zip(self.rstd.par_chunks_mut(share)).for_each(work);
    }

    /// `gradient` from that of the result to that of the input.
    pub fn backward(
        &self,
        gradient: &mut [f32],
        weight: &[f32],
        (d_weight, d_bias): (&mut [f32], &mut [f32]),
        cores: Cores,
    ) {
        let width = weight.len();
        column_sums(gradient, d_bias, cores);
        product_sums(gradient, &self.rows, d_weight, cores);
        in_shares!(gradient, cores.row_share(gradient.len(), width), |first, part| {
            let rows = self.rows[first..].chunks_exact(width).zip(&self.rstd[first / width..]);
            for (gradient, (row, rstd)) in part.chunks_exact_mut(width).zip(rows) {
                norm_backward_row(gradient, row, weight, *rstd);
            }
        });
    }
}

#[inline(always)]
fn norm_row(x: &mut [f32], y: &mut [f32], weight: &[f32], bias: &[f32]) -> f32 {
    let (mean, rstd) = mean_and_rstd(x, EPS);
    for (((x, y), w), b) in x.iter_mut().zip(y).zip(weight).zip(bias) {
        *x = (*x - mean) * rstd;
        *y = *x * w + b;
    }
    rstd
}

#[inline(always)]
fn norm_backward_row(gradient: &mut [f32], row: &[f32], weight: &[f32], rstd: f32) {
    gradient.iter_mut().zip(weight).for_each(|(g, w)| *g *= w);
    let count = row.len() as f32;
    let mean = sum(gradient, |g| g) / count;
    let along = dot(gradient, row) / count;
    gradient.iter_mut().zip(row).for_each(|(g, x)| *g = rstd * (*g - mean - x * along));
}

/// The sum of every column, each by one core, so that it is the same however many there are.
pub(super) fn column_sums(rows: &[f32], out: &mut [f32], cores: Cores) {
    let width = out.len();
    in_shares!(out, cores.column_share(width, rows.len()), |first, out| {
        out.fill(0.0);
        rows.chunks_exact(width).for_each(|row| add(out, &row[first..]));
    });
}

/// The sum over rows of a·b, for every column.
fn product_sums(a: &[f32], b: &[f32], out: &mut [f32], cores: Cores) {
    let width = out.len();
    in_shares!(out, cores.column_share(width, a.len()), |first, out| {
        out.fill(0.0);
        for (a, b) in a.chunks_exact(width).zip(b.chunks_exact(width)) {
            let both = a[first..].iter().zip(&b[first..]);
            out.iter_mut().zip(both).for_each(|(sum, (a, b))| *sum += a * b);
        }
    });
}
