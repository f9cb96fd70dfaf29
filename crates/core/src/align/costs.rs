//! What it costs to match a step with a second, and to drop a second.

use super::AlignError;
use super::lanes::LANES;
use crate::features::{Features, similarity};
use std::collections::HashMap;

/// Keeps the logarithm of a vanishing probability finite.
const EPSILON: f64 = 1e-5;

/// Matching costs of every step and second, and the drop cost of every second.
///
/// An infinite matching cost forbids the pair.
#[derive(Clone, Debug, PartialEq)]
pub struct Costs {
    steps: usize,
    /// \[seconds, stride\] in groups of lanes: the costs of all steps, then infinities.
    matching: Vec<[f64; LANES]>,
    drop: Vec<f64>,
}

#[derive(Clone, Copy, Debug, PartialEq)]
pub struct CostOptions {
    /// The share of all similarities that is thought to show something, 0 to 1.
    pub keep: f64,
    /// Similarities are divided by it before the softmax.
    pub temperature: f64,
}

impl Default for CostOptions {
    fn default() -> Self {
        Self { keep: 0.3, temperature: 1.0 }
    }
}

impl CostOptions {
    fn check(&self) -> Result<(), AlignError> {
        if !(0.0..=1.0).contains(&self.keep) {
            return Err(AlignError::Option { what: "the kept share", range: "between 0 and 1" });
        }
        if !(self.temperature > 0.0 && self.temperature.is_finite()) {
            return Err(AlignError::Option { what: "the temperature", range: "above 0" });
        }
        Ok(())
    }
}

impl Costs {
    pub fn new(matching: Vec<f64>, drop: Vec<f64>) -> Result<Self, AlignError> {
        let steps = rows_of(&matching, drop.len())?;
        let rows: Vec<usize> = (0..steps).collect();
        Self::from_rows(&matching, drop, &rows)
    }

    /// Costs from the similarity of each distinct step with each second; `rows[i]` is the row of
    /// `similarity` that step i uses. Every row counts once, however many steps use it.
    pub fn from_similarity(
        similarity: &[f64],
        seconds: usize,
        rows: &[usize],
        options: &CostOptions,
    ) -> Result<Self, AlignError> {
        options.check()?;
        let distinct = rows_of(similarity, seconds)?;
        if let Some(at) = similarity.iter().position(|x| !x.is_finite()) {
            return Err(AlignError::NotANumber { second: at % seconds });
        }
        let baseline = baseline(similarity, options.keep);
        let mut matching = vec![0.0; similarity.len()];
        let mut drop = vec![0.0; seconds];
        let mut column = vec![0.0; distinct + 1];
        for second in 0..seconds {
            for row in 0..distinct {
                column[row] = similarity[row * seconds + second] / options.temperature;
            }
            column[distinct] = baseline / options.temperature;
            negative_log_softmax(&mut column);
            (0..distinct).for_each(|row| matching[row * seconds + second] = column[row]);
            drop[second] = column[distinct];
        }
        Self::from_rows(&matching, drop, rows)
    }

    /// Costs from the features of the steps and of the seconds; steps of the same text share a row
    /// of similarities.
    pub fn from_features(
        steps: &Features,
        seconds: &Features,
        texts: &[impl AsRef<str>],
        options: &CostOptions,
    ) -> Result<Self, AlignError> {
        let (expected, given) = (steps.len(), texts.len());
        if expected != given {
            return Err(AlignError::Count { what: "texts", expected, given });
        }
        if steps.dim() != seconds.dim() {
            let (expected, given) = (seconds.dim(), steps.dim());
            return Err(AlignError::Count { what: "numbers per step feature", expected, given });
        }
        let (rows, firsts) = distinct(texts);
        let similarities: Vec<f64> = firsts
            .iter()
            .flat_map(|step| seconds.rows().map(|x| f64::from(similarity(steps.row(*step), x))))
            .collect();
        Self::from_similarity(&similarities, seconds.len(), &rows, options)
    }

    pub fn steps(&self) -> usize {
        self.steps
    }

    pub fn seconds(&self) -> usize {
        self.drop.len()
    }

    /// What it costs to show `step` in `second`, both from 0.
    pub fn matching(&self, step: usize, second: usize) -> f64 {
        self.matching.as_flattened()[second * self.stride() + step]
    }

    /// What it costs to drop each second.
    pub fn drop(&self) -> &[f64] {
        &self.drop
    }

    /// Forbids `step` outside the seconds of `window`.
    pub fn bound(&mut self, step: usize, window: std::ops::Range<usize>) {
        assert!(step < self.steps, "step {step} of {}", self.steps);
        let stride = self.stride();
        for second in (0..self.seconds()).filter(|second| !window.contains(second)) {
            self.matching.as_flattened_mut()[second * stride + step] = f64::INFINITY;
        }
    }

    /// The costs of all seconds, `stride` numbers each.
    pub(super) fn columns(&self) -> &[[f64; LANES]] {
        &self.matching
    }

    pub(super) fn stride(&self) -> usize {
        self.steps.next_multiple_of(LANES)
    }

    /// Turns rows of seconds into columns of steps.
    fn from_rows(matching: &[f64], drop: Vec<f64>, rows: &[usize]) -> Result<Self, AlignError> {
        let (seconds, given) = (drop.len(), rows_of(matching, drop.len())?);
        let Some(last) = rows.iter().max() else { return Err(AlignError::NoSteps) };
        if *last >= given {
            let what = "rows of similarities";
            return Err(AlignError::Count { what, expected: last + 1, given });
        }
        let bad = |x: &f64| x.is_nan() || *x == f64::NEG_INFINITY;
        let first_bad = matching.iter().position(bad).map(|at| at % seconds);
        if let Some(second) = first_bad.or_else(|| drop.iter().position(bad)) {
            return Err(AlignError::NotANumber { second });
        }
        let stride = rows.len().next_multiple_of(LANES);
        let mut columns = vec![[f64::INFINITY; LANES]; stride / LANES * seconds];
        for (second, column) in columns.as_flattened_mut().chunks_exact_mut(stride).enumerate() {
            column.iter_mut().zip(rows).for_each(|(x, row)| *x = matching[row * seconds + second]);
        }
        Ok(Self { steps: rows.len(), matching: columns, drop })
    }
}

/// How many rows of `seconds` the numbers make.
fn rows_of(numbers: &[f64], seconds: usize) -> Result<usize, AlignError> {
    if seconds == 0 || !numbers.len().is_multiple_of(seconds) {
        return Err(AlignError::Ragged { numbers: numbers.len(), seconds });
    }
    Ok(numbers.len() / seconds)
}

/// b: the similarity that the kept share of all entries reaches.
fn baseline(similarity: &[f64], keep: f64) -> f64 {
    let mut entries = similarity.to_vec();
    if entries.is_empty() {
        return 0.0;
    }
    let k = ((entries.len() as f64 * keep) as usize).clamp(1, entries.len());
    *entries.select_nth_unstable_by(k - 1, |a, b| b.total_cmp(a)).1
}

/// −ln(softmax + ε) of a column, in place.
fn negative_log_softmax(column: &mut [f64]) {
    let greatest = column.iter().copied().fold(f64::NEG_INFINITY, f64::max);
    column.iter_mut().for_each(|x| *x = (*x - greatest).exp());
    let sum: f64 = column.iter().sum();
    column.iter_mut().for_each(|x| *x = -(*x / sum + EPSILON).ln());
}

/// For each text its number among the distinct ones, and where each distinct one stands first.
fn distinct(texts: &[impl AsRef<str>]) -> (Vec<usize>, Vec<usize>) {
    let mut numbers: HashMap<&str, usize> = HashMap::new();
    let mut firsts = Vec::new();
    let rows = texts.iter().enumerate().map(|(step, text)| {
        *numbers.entry(text.as_ref()).or_insert_with(|| {
            firsts.push(step);
            firsts.len() - 1
        })
    });
    (rows.collect(), firsts)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn equal_texts_share_a_row() {
        let steps = Features::new(2, vec![1.0, 0.0, 0.0, 1.0, 1.0, 0.0]).unwrap();
        let seconds = Features::new(2, vec![1.0, 0.0, 0.0, 1.0, 0.6, 0.8]).unwrap();
        let options = CostOptions::default();
        let costs =
            Costs::from_features(&steps, &seconds, &["stir", "pour", "stir"], &options).unwrap();
        assert_eq!(costs.steps(), 3);
        let two = Costs::from_similarity(
            &[1.0, 0.0, f64::from(0.6f32), 0.0, 1.0, f64::from(0.8f32)],
            3,
            &[0, 1, 0],
            &options,
        );
        assert_eq!(costs, two.unwrap());
    }

    #[test]
    fn bad_input_is_told() {
        let options = CostOptions::default();
        let ragged = AlignError::Ragged { numbers: 3, seconds: 2 };
        assert_eq!(Costs::new(vec![1.0; 3], vec![1.0; 2]), Err(ragged));
        assert!(matches!(Costs::new(vec![], vec![]), Err(AlignError::Ragged { .. })));
        assert_eq!(Costs::new(vec![], vec![1.0]), Err(AlignError::NoSteps));
        let nan = Costs::new(vec![0.0, 1.0, f64::NAN, 1.0], vec![1.0; 2]);
        assert_eq!(nan, Err(AlignError::NotANumber { second: 0 }));
        let nan = Costs::new(vec![0.0, 1.0], vec![1.0, f64::NEG_INFINITY]);
        assert_eq!(nan, Err(AlignError::NotANumber { second: 1 }));
        let missing = Costs::from_similarity(&[0.0; 4], 2, &[0, 2], &options);
        assert!(matches!(missing, Err(AlignError::Count { expected: 3, given: 2, .. })));
        let cold = CostOptions { temperature: 0.0, ..options };
        assert!(Costs::from_similarity(&[0.0], 1, &[0], &cold).is_err());
        let many = CostOptions { keep: f64::NAN, ..options };
        assert!(Costs::from_similarity(&[0.0], 1, &[0], &many).is_err());
    }
}
