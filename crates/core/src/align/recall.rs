//! The recall protocol of CrossTask: one second per step, in order, of greatest total similarity.

use super::AlignError;

/// For each step its second, strictly increasing, such that the similarities' sum is greatest.
///
/// `similarity` holds a row of `seconds` for each step; among equal sums the latest seconds win,
/// the last step's first.
pub fn best_seconds(similarity: &[f64], seconds: usize) -> Result<Vec<usize>, AlignError> {
    if seconds == 0 || !similarity.len().is_multiple_of(seconds) {
        return Err(AlignError::Ragged { numbers: similarity.len(), seconds });
    }
    if let Some(at) = similarity.iter().position(|x| !x.is_finite()) {
        return Err(AlignError::NotANumber { second: at % seconds });
    }
    let steps = similarity.len() / seconds;
    if steps > seconds {
        return Err(AlignError::TooManySteps { steps, seconds });
    }
    let mut best = vec![0.0; seconds + 1];
    let mut taken = vec![false; similarity.len()];
    for (row, taken) in similarity.chunks_exact(seconds).zip(taken.chunks_exact_mut(seconds)) {
        next_row(&mut best, row, taken);
    }
    Ok(walk_back(&taken, steps, seconds))
}

/// From the best sums of the steps before to those with this one; `best[j]` is over the first j
/// seconds, and `taken[j]` says that this step takes second j there.
fn next_row(best: &mut [f64], row: &[f64], taken: &mut [bool]) {
    let mut diagonal = std::mem::replace(&mut best[0], f64::NEG_INFINITY);
    for (second, x) in row.iter().enumerate() {
        let (take, leave) = (diagonal + x, best[second]);
        diagonal = best[second + 1];
        taken[second] = take > f64::NEG_INFINITY && take >= leave;
        best[second + 1] = take.max(leave);
    }
}

fn walk_back(taken: &[bool], steps: usize, seconds: usize) -> Vec<usize> {
    let mut chosen = vec![0; steps];
    let mut end = seconds;
    for step in (0..steps).rev() {
        while end > 1 && !taken[step * seconds + end - 1] {
            end -= 1;
        }
        end -= 1;
        chosen[step] = end;
    }
    chosen
}
