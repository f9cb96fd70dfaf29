//! Training F_R to decide: candidate answers of the search to questions whose right answers are known, compared
//! with each other.

use std::collections::BTreeMap;
use std::path::{Path, PathBuf};

use rand::seq::SliceRandom;
use rand_chacha::ChaCha8Rng;
use rand_chacha::rand_core::SeedableRng;
use safetensors::tensor::{Dtype, TensorView};
use safetensors::{SafeTensorError, SafeTensors};
use serde::Serialize;
use serde_json::json;
use stitch_core::clip::ClipId;
use stitch_core::cover::Sequence;
use stitch_core::procedure::Procedure;
use stitch_engine::demonstrate::{Asked, Demonstrator, Options, Stock, answer_candidates};
use stitch_engine::evaluator::config::ANSWER_INPUTS;
use stitch_engine::evaluator::{
    Activations, AdamW, AdamWState, Batch, Config, Dropout, Evaluator, EvaluatorError, PlattScaling,
};
use stitch_engine::files::{FileError, write_whole};
use stitch_engine::models::manifest::Role;
use stitch_engine::models::{Card, sha256};
use stitch_engine::progress::Progress;
use stitch_world::questions::{Question, QuestionKind};
use stitch_world::truth::Truth;

use super::{TrainError, platt};
use crate::suite::MeasureError;
use crate::suite::answers::{Judged, hidden, judge, of_sequence};
use crate::suite::labels::{NaturalProcedure, ShownBy};
use crate::suite::reading::{matches, read_text};

/// The candidates of one question.
pub struct AnswerGroup {
    pub kind: QuestionKind,
    pub inputs: Batch,
    pub judged: Vec<Judged>,
}

/// The candidates that the search makes for these questions.
pub fn groups(
    with: &Demonstrator<'_>,
    truth: &Truth,
    questions: &[Question],
    progress: &dyn Progress,
) -> Result<Vec<AnswerGroup>, MeasureError> {
    let stock = Stock::load(with.library)?;
    progress.begin("finding candidates", questions.len() as u64);
    let mut groups = Vec::new();
    for question in questions {
        progress.check()?;
        let steps = question.procedure.steps.iter().map(|step| &step.text);
        let procedure = Procedure::new(&question.procedure.title, steps)?;
        let asked = Asked::encode(with, &procedure)?;
        let options = Options { wishes: hidden(question, &stock), ..Options::default() };
        let judge = |answer: &Sequence| judge(question, &of_sequence(answer, &stock), truth);
        let (answers, inputs) = answer_candidates(with, &stock, &asked, &options)?;
        let judged = answers.iter().map(judge).collect();
        groups.push(AnswerGroup { kind: question.kind, inputs, judged });
        progress.advance(1);
    }
    Ok(groups)
}

/// The candidates that the search makes for labelled procedures; those that are not read as one are left out.
pub fn natural_groups(
    with: &Demonstrator<'_>,
    world: Option<&Truth>,
    procedures: &[NaturalProcedure],
    progress: &dyn Progress,
) -> Result<Vec<AnswerGroup>, MeasureError> {
    let stock = Stock::load(with.library)?;
    progress.begin("finding candidates", procedures.len() as u64);
    let mut groups = Vec::new();
    for natural in procedures {
        progress.check()?;
        progress.advance(1);
        let Some(procedure) = read_text("natural.txt", &natural.text, Some(with.sentence))? else {
            continue;
        };
        let asked = Asked::encode(with, &procedure)?;
        let lines = natural.steps.iter().map(|step| step.line.as_str());
        let read = matches(lines, procedure.steps().iter().map(String::as_str));
        let judge = |answer: &Sequence| {
            let mut judged = Judged::default();
            for (step, hits) in natural.steps.iter().zip(&read).filter(|(_, hits)| !hits.is_empty())
            {
                let mut clips = hits.iter().filter_map(|hit| answer.0[*hit]).peekable();
                let shown = &step.shown_by;
                let right = match clips.peek() {
                    None => shown.is_empty(),
                    Some(_) => clips.any(|clip| shown_in(shown, clip, &stock, world)),
                };
                judged.steps += 1;
                judged.right += usize::from(right);
            }
            judged
        };
        let (answers, inputs) = answer_candidates(with, &stock, &asked, &Options::default())?;
        let judged = answers.iter().map(judge).collect();
        groups.push(AnswerGroup { kind: QuestionKind::Ordinary, inputs, judged });
    }
    Ok(groups)
}

fn shown_in(shown: &ShownBy, clip: ClipId, stock: &Stock, world: Option<&Truth>) -> bool {
    let clip = stock.pool.clip(clip);
    let video = stock.videos.get(&clip.video);
    let span = (clip.span.start(), clip.span.end());
    video.is_some_and(|video| shown.includes(&video.path, span, world))
}

#[derive(Clone, Copy, Debug, Serialize)]
pub struct AnswerTraining {
    pub epochs: usize,
    /// Questions in a batch.
    pub batch: usize,
    /// Adam's learning rate, at its highest.
    pub rate: f64,
    pub decay: f64,
    pub seed: u64,
}

impl Default for AnswerTraining {
    fn default() -> Self {
        Self { epochs: 30, batch: 16, rate: 1e-3, decay: 0.01, seed: 0 }
    }
}

/// What a share of right answers means for the target: an answer with one more right decision is so many times
/// as wanted, in natural logarithms.
const TARGET_SHARPNESS: f32 = 3.0;

/// Trains on some questions; the epoch that answers `choosing` best is kept, and its probabilities are fitted
/// on them.
pub fn train_answers(
    training: &[AnswerGroup],
    choosing: &[AnswerGroup],
    options: &AnswerTraining,
    report: &dyn Fn(usize, f32, f64),
    progress: &dyn Progress,
) -> Result<Evaluator, EvaluatorError> {
    let mut evaluator = Evaluator::fresh(Config::answer(), options.seed)?;
    let mut state = AdamWState::new(evaluator.network.parameters.len());
    let mut gradient = vec![0.0; evaluator.network.parameters.len()];
    let mut activations = Activations::new(&evaluator.network.config);
    let steps = training.len().div_ceil(options.batch) * options.epochs;
    let mut random = ChaCha8Rng::seed_from_u64(options.seed);
    let mut best: Option<(f64, Evaluator)> = None;
    let mut step = 0;
    for epoch in 0..options.epochs {
        let mut order: Vec<&AnswerGroup> = training.iter().collect();
        order.shuffle(&mut random);
        let mut losses = 0.0;
        for some in order.chunks(options.batch) {
            let (batch, targets) = joined(some);
            let warm_up = ((step + 1) as f64 / (steps as f64 / 20.0).max(1.0)).min(1.0);
            let cosine = 0.5 * (1.0 + (std::f64::consts::PI * step as f64 / steps as f64).cos());
            let adamw = AdamW {
                learning_rate: options.rate * warm_up * cosine,
                weight_decay: options.decay,
                max_gradient_norm: 1.0,
            };
            let dropout = Dropout::new(evaluator.config.dropout, options.seed ^ step as u64);
            let mut loss = 0.0;
            let slopes = |logits: &[f32]| {
                let (found, slopes) = listwise(logits, &targets);
                loss = found;
                slopes
            };
            evaluator.network.gradient(&batch, dropout, slopes, &mut activations, &mut gradient);
            adamw.step(&mut evaluator.network.parameters, &mut state, &gradient);
            losses += loss;
            step += 1;
            if progress.stopped() {
                break;
            }
        }
        let right = share_right(&evaluator, choosing);
        report(epoch, losses / training.len().div_ceil(options.batch).max(1) as f32, right);
        if best.as_ref().is_none_or(|(most, _)| right > *most) {
            best = Some((right, evaluator.clone()));
        }
    }
    let mut best = best.map_or(evaluator, |(_, best)| best);
    best.config.calibration = calibration(&best, choosing);
    Ok(best)
}

/// The card of an evaluator that was trained on these files.
pub fn card(
    training: &[PathBuf],
    choosing: &Path,
    options: &AnswerTraining,
    licence: &str,
) -> Result<Card, FileError> {
    let hash =
        |path: &Path| std::fs::read(path).map(|bytes| sha256(&bytes)).map_err(FileError::at(path));
    let hashes = training.iter().map(|path| hash(path)).collect::<Result<Vec<_>, _>>()?;
    let mut metrics = serde_json::Map::new();
    metrics.insert("settings".into(), json!(options));
    metrics.insert("choosing".into(), json!(hash(choosing)?));
    Ok(Card {
        name: "evaluator".into(),
        role: Role::Evaluator,
        about: "decides which candidate answer of a query is best, gaps included".into(),
        licence: licence.into(),
        data: hashes.join(" "),
        origin: "stitch train --answers".into(),
        seed: Some(options.seed),
        metrics,
        sha256: BTreeMap::new(),
    })
}

/// The candidates of several questions, and for each question the share of the target of every candidate.
fn joined(groups: &[&AnswerGroup]) -> (Batch, Vec<Vec<f32>>) {
    let mut batch = Batch::default();
    for group in groups {
        batch.inputs.extend_from_slice(&group.inputs.inputs);
        batch.lengths.extend_from_slice(&group.inputs.lengths);
    }
    (batch, groups.iter().map(|group| target(&group.judged)).collect())
}

fn target(judged: &[Judged]) -> Vec<f32> {
    let worth = |judged: &Judged| (-TARGET_SHARPNESS * judged.faults() as f32).exp();
    let all: Vec<f32> = judged.iter().map(worth).collect();
    let sum: f32 = all.iter().sum::<f32>().max(f32::MIN_POSITIVE);
    all.iter().map(|worth| worth / sum).collect()
}

/// The mean cross entropy of a softmax over each question's candidates, and its slopes.
fn listwise(logits: &[f32], targets: &[Vec<f32>]) -> (f32, Vec<f32>) {
    let (mut loss, mut slopes, mut at) = (0.0, Vec::with_capacity(logits.len()), 0);
    let count = targets.len().max(1) as f32;
    for target in targets {
        let own = &logits[at..at + target.len()];
        let most = own.iter().copied().fold(f32::MIN, f32::max);
        let sum: f32 = own.iter().map(|logit| (logit - most).exp()).sum();
        for (logit, target) in own.iter().zip(target) {
            let log_share = logit - most - sum.ln();
            loss -= target * log_share / count;
            slopes.push((log_share.exp() - target) / count);
        }
        at += target.len();
    }
    (loss, slopes)
}

/// The best candidate of a question.
fn chosen(evaluator: &Evaluator, group: &AnswerGroup) -> (f32, Judged) {
    let logits = evaluator.network.logits(&group.inputs);
    let all = logits.into_iter().zip(group.judged.iter().copied());
    all.reduce(|a, b| if b.0 > a.0 { b } else { a }).unwrap_or_default()
}

/// The share of decisions that are right where the evaluator decides, steps and states together.
pub fn share_right(evaluator: &Evaluator, groups: &[AnswerGroup]) -> f64 {
    let (mut right, mut all) = (0, 0);
    for group in groups {
        let (_, judged) = chosen(evaluator, group);
        right += judged.right + judged.consistent;
        all += judged.steps + judged.transitions;
    }
    right as f64 / all.max(1) as f64
}

/// Of the probability that an answer is right throughout.
fn calibration(evaluator: &Evaluator, groups: &[AnswerGroup]) -> PlattScaling {
    let chosen: Vec<(f32, bool)> = groups
        .iter()
        .map(|group| chosen(evaluator, group))
        .map(|(logit, judged)| (logit, judged.is_perfect()))
        .collect();
    platt::fit(&chosen)
}

/// Writes groups to a safetensors file: the inputs of all steps, the number of steps of each candidate, of
/// candidates of each question, its kind, and how each candidate was judged.
pub fn write(groups: &[AnswerGroup], path: &Path) -> Result<(), FileError> {
    let inputs: Vec<u8> = groups
        .iter()
        .flat_map(|group| &group.inputs.inputs)
        .flat_map(|x| x.to_le_bytes())
        .collect();
    let integers = |values: &mut dyn Iterator<Item = usize>| -> Vec<u8> {
        values.flat_map(|value| (value as u32).to_le_bytes()).collect()
    };
    let lengths = integers(&mut groups.iter().flat_map(|group| group.inputs.lengths.clone()));
    let counts = integers(&mut groups.iter().map(|group| group.judged.len()));
    let kinds = integers(&mut groups.iter().map(|group| group.kind as usize));
    let judged = |of: &Judged| [of.steps, of.right, of.transitions, of.consistent];
    let judged = integers(&mut groups.iter().flat_map(|group| &group.judged).flat_map(judged));
    let tensors = [
        ("inputs", view(Dtype::F32, ANSWER_INPUTS, &inputs)),
        ("lengths", view(Dtype::U32, 1, &lengths)),
        ("counts", view(Dtype::U32, 1, &counts)),
        ("kinds", view(Dtype::U32, 1, &kinds)),
        ("judged", view(Dtype::U32, JUDGED, &judged)),
    ];
    // cannot fail: names differ and shapes fit
    let bytes = safetensors::serialize(tensors, None).expect("tensors");
    write_whole(path, &bytes)
}

/// A matrix over bytes of numbers of four bytes each.
fn view(dtype: Dtype, columns: usize, bytes: &[u8]) -> TensorView<'_> {
    // cannot fail: the shape follows from the bytes
    TensorView::new(dtype, vec![bytes.len() / 4 / columns, columns], bytes).expect("the shape")
}

/// Numbers that judge a candidate.
const JUDGED: usize = 4;

/// Reads what [`write`] wrote.
pub fn read(path: &Path) -> Result<Vec<AnswerGroup>, TrainError> {
    let bytes = std::fs::read(path).map_err(FileError::at(path))?;
    let because = |reason: String| TrainError::NoAnswers { path: path.to_owned(), reason };
    let broken = || because("its tensors do not belong together".into());
    let unreadable = |error: SafeTensorError| because(error.to_string());
    let tensors = SafeTensors::deserialize(&bytes).map_err(unreadable)?;
    let numbers = |name: &str| -> Result<Vec<u32>, TrainError> {
        let tensor = tensors.tensor(name).map_err(unreadable)?;
        let bytes = tensor.data().chunks_exact(4);
        Ok(bytes.map(|b| u32::from_le_bytes([b[0], b[1], b[2], b[3]])).collect())
    };
    let mut inputs = numbers("inputs")?.into_iter().map(f32::from_bits);
    let mut lengths = numbers("lengths")?.into_iter().map(|length| length as usize);
    let mut judged = numbers("judged")?.into_iter().map(|number| number as usize);
    let kinds = numbers("kinds")?;
    let mut groups = Vec::new();
    for (count, kind) in numbers("counts")?.into_iter().zip(kinds) {
        let kind = *QuestionKind::ALL.get(kind as usize).ok_or_else(broken)?;
        let mut group = AnswerGroup { kind, inputs: Batch::default(), judged: Vec::new() };
        for _ in 0..count {
            let length = lengths.next().ok_or_else(broken)?;
            let wanted = length.checked_mul(ANSWER_INPUTS).ok_or_else(broken)?;
            let before = group.inputs.inputs.len();
            group.inputs.inputs.extend(inputs.by_ref().take(wanted));
            let mut next = || judged.next().ok_or_else(broken);
            let [steps, right, transitions, consistent] = [next()?, next()?, next()?, next()?];
            if group.inputs.inputs.len() - before != wanted
                || right > steps
                || consistent > transitions
            {
                return Err(broken());
            }
            group.inputs.lengths.push(length);
            group.judged.push(Judged { steps, right, transitions, consistent });
        }
        groups.push(group);
    }
    if groups.is_empty() { Err(broken()) } else { Ok(groups) }
}

#[cfg(test)]
mod tests {
    use stitch_engine::progress::Silent;

    use super::*;

    /// A question whose right answer has a first input of 1 in its second step.
    fn group(number: usize) -> AnswerGroup {
        let mut inputs = Batch::default();
        let mut judged = Vec::new();
        for candidate in 0..4 {
            let right = candidate == number % 4;
            for step in 0..3 {
                let mut row = [0.0; ANSWER_INPUTS];
                row[0] = f32::from(u8::from(right && step == 1));
                row[1] = ((number * 7 + candidate * 3 + step) as f32).sin();
                inputs.inputs.extend(row);
            }
            inputs.lengths.push(3);
            let right = if right { 3 } else { 2 };
            judged.push(Judged { steps: 3, right, transitions: 1, consistent: 1 });
        }
        AnswerGroup { kind: QuestionKind::State, inputs, judged }
    }

    #[test]
    fn learns_which_answer_is_right() {
        let training: Vec<AnswerGroup> = (0..64).map(group).collect();
        let choosing: Vec<AnswerGroup> = (64..96).map(group).collect();
        let options = AnswerTraining { epochs: 12, ..AnswerTraining::default() };
        let learn =
            || train_answers(&training, &choosing, &options, &|_, _, _| (), &Silent).unwrap();
        let learnt = learn();
        assert!(share_right(&learnt, &choosing) > 0.98);
        assert!(learnt.network.parameters == learn().network.parameters, "the same every time");
        let mut shuffled = learnt.clone();
        let shares = (0..8).map(|_| {
            shuffled.network.parameters.rotate_left(1009);
            share_right(&shuffled, &choosing)
        });
        assert!(shares.sum::<f64>() / 8.0 < 0.95, "it is the weights that know");
    }

    #[test]
    fn slopes_are_those_of_the_loss() {
        let targets = [vec![0.7, 0.3], vec![0.0, 1.0, 0.0]];
        let logits = [0.3, -0.2, 1.0, 0.5, -1.0];
        let (_, slopes) = listwise(&logits, &targets);
        for at in 0..logits.len() {
            let mut moved = [logits; 2];
            moved[0][at] -= 1e-2;
            moved[1][at] += 1e-2;
            let [less, more] = moved.map(|logits| listwise(&logits, &targets).0);
            assert!((slopes[at] - (more - less) / 2e-2).abs() < 1e-3, "{at}");
        }
    }

    #[test]
    fn a_file_holds_all_of_it() {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("answers.safetensors");
        let groups: Vec<AnswerGroup> = (0..3).map(group).collect();
        write(&groups, &path).unwrap();
        let read_back = read(&path).unwrap();
        assert_eq!(read_back.len(), 3);
        for (a, b) in groups.iter().zip(&read_back) {
            assert_eq!((a.kind, &a.inputs, &a.judged), (b.kind, &b.inputs, &b.judged));
        }
        std::fs::write(&path, b"nonsense").unwrap();
        assert!(matches!(read(&path), Err(TrainError::NoAnswers { .. })));
    }
}
