//! Answers to questions about a made-up library: which steps are right, and whether things keep the state that
//! earlier clips left them in.

use std::collections::HashMap;

use serde::Serialize;
use stitch_core::cover::Sequence;
use stitch_core::procedure::Procedure;
use stitch_engine::demonstrate::{
    Asked, Demonstration, Demonstrator, Options, Place, Stock, Wish, Wishes, solve,
};
use stitch_engine::progress::Progress;
use stitch_world::library::Source;
use stitch_world::questions::Question;
use stitch_world::truth::{StepTruth, Truth, is_consistent};
use stitch_world::vocabulary::{Kind, State};

use super::MeasureError;
use super::made_up::{RESAMPLES, file_name, same_place};
use super::metrics::{Estimate, count_ratio, ratio};

/// How good one answer is.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Judged {
    pub steps: usize,
    /// Steps with a clip that shows them, and gaps where nothing does.
    pub right: usize,
    /// Things that are seen again in a later clip.
    pub transitions: usize,
    /// Those of them that are in the state they were left in.
    pub consistent: usize,
}

impl Judged {
    /// Steps that are wrong, and things in another state than they were left in.
    pub fn faults(&self) -> usize {
        self.steps - self.right + self.transitions - self.consistent
    }

    pub fn is_perfect(&self) -> bool {
        self.faults() == 0
    }
}

/// A clip of an answer, by its file; none for a gap.
type Answered = Option<Source>;

pub fn of_demonstration(demonstration: &Demonstration) -> Vec<Answered> {
    let clip = |step: &stitch_engine::demonstrate::Step| {
        let choice = step.chosen.as_ref()?;
        let file = file_name(&choice.source.path);
        Some(Source { file, start_ms: choice.span.start_ms, end_ms: choice.span.end_ms })
    };
    demonstration.steps.iter().map(clip).collect()
}

pub fn of_sequence(sequence: &Sequence, stock: &Stock) -> Vec<Answered> {
    let clip = |clip| {
        let clip = stock.pool.clip(clip);
        let file = file_name(&stock.videos.get(&clip.video)?.path);
        Some(Source { file, start_ms: clip.span.start(), end_ms: clip.span.end() })
    };
    sequence.0.iter().map(|step| step.and_then(clip)).collect()
}

pub fn judge(question: &Question, answer: &[Answered], truth: &Truth) -> Judged {
    let mut judged = Judged { steps: question.procedure.steps.len(), ..Judged::default() };
    let mut states: HashMap<Kind, State> = HashMap::new();
    for (step, clip) in question.procedure.steps.iter().zip(answer) {
        let Some(clip) = clip else {
            judged.right += usize::from(step.sources.is_empty());
            continue;
        };
        judged.right += usize::from(step.sources.iter().any(|source| is_same(source, clip)));
        for thing in shown(truth, clip).map_or(&[][..], |step| &step.things) {
            if let Some(left) = states.insert(thing.kind, thing.after) {
                judged.transitions += 1;
                judged.consistent += usize::from(is_consistent(thing.kind, left, thing.before));
            }
        }
    }
    judged
}

fn is_same(a: &Source, b: &Source) -> bool {
    a.file == b.file && same_place((a.start_ms, a.end_ms), (b.start_ms, b.end_ms))
}

/// The step that a clip shows most of.
fn shown<'a>(truth: &'a Truth, clip: &Source) -> Option<&'a StepTruth> {
    let video = truth.videos.iter().find(|video| video.file == clip.file)?;
    let common = |step: &&StepTruth| {
        step.end_ms.min(clip.end_ms).saturating_sub(step.start_ms.max(clip.start_ms))
    };
    video.steps.iter().filter(|step| common(step) > 0).max_by_key(common)
}

/// How a method answers the questions of one kind, or all of them.
#[derive(Clone, Debug, Serialize)]
pub struct QuestionGroup {
    pub name: String,
    pub questions: usize,
    /// Questions with every step right and every thing in its state.
    pub perfect: Estimate,
    /// Of another method on the same questions, and by how much this one is better.
    pub other: Estimate,
    pub gain: Estimate,
    /// Steps that are right.
    pub right: Estimate,
    /// Things that are seen again in the state they were left in.
    pub consistent: Estimate,
}

/// Both methods' answers to the same questions.
pub fn compare(
    methods: [&Demonstrator<'_>; 2],
    truth: &Truth,
    questions: &[Question],
    options: &Options,
    progress: &dyn Progress,
) -> Result<Vec<QuestionGroup>, MeasureError> {
    let stock = Stock::load(methods[0].library)?;
    progress.begin("answering questions", questions.len() as u64);
    let mut all: Vec<(String, [Judged; 2])> = Vec::new();
    for question in questions {
        progress.check()?;
        let steps = question.procedure.steps.iter().map(|step| &step.text);
        let asked = Asked::encode(methods[0], &Procedure::new(&question.procedure.title, steps)?)?;
        let options = Options { wishes: hidden(question, &stock), ..options.clone() };
        let answer = |with: &Demonstrator<'_>| -> Result<Judged, MeasureError> {
            let answer = solve(with, &stock, &asked, &options)?;
            Ok(judge(question, &of_demonstration(&answer), truth))
        };
        let changes = question.procedure.changes.min(3);
        let judged = [answer(methods[0])?, answer(methods[1])?];
        all.push((format!("{:?}", question.kind).to_lowercase(), judged));
        all.push((
            format!("{changes}{} source changes", if changes == 3 { "+" } else { "" }),
            judged,
        ));
        progress.advance(1);
    }
    let of_kinds: Vec<[Judged; 2]> = all.iter().step_by(2).map(|(_, judged)| *judged).collect();
    let mut names: Vec<&String> = all.iter().step_by(2).map(|(name, _)| name).collect();
    names.dedup();
    let mut strata: Vec<&String> = all.iter().skip(1).step_by(2).map(|(name, _)| name).collect();
    strata.sort();
    strata.dedup();
    let of = |name: &String| -> Vec<[Judged; 2]> {
        all.iter().filter(|(other, _)| other == name).map(|(_, judged)| *judged).collect()
    };
    let named = names.into_iter().chain(strata).map(|name| group(name, &of(name), options.seed));
    Ok(std::iter::once(group("all", &of_kinds, options.seed)).chain(named).collect())
}

fn group(name: &str, judged: &[[Judged; 2]], seed: u64) -> QuestionGroup {
    let share = |counts: &dyn Fn(&[Judged; 2]) -> (usize, usize)| {
        count_ratio(judged, counts, RESAMPLES, seed)
    };
    let perfect = |of: &Judged| f64::from(u8::from(of.is_perfect()));
    let differences: Vec<(f64, f64)> =
        judged.iter().map(|[a, b]| (perfect(a) - perfect(b), 1.0)).collect();
    QuestionGroup {
        name: name.into(),
        questions: judged.len(),
        perfect: share(&|[a, _]| (usize::from(a.is_perfect()), 1)),
        other: share(&|[_, b]| (usize::from(b.is_perfect()), 1)),
        gain: ratio(&differences, RESAMPLES, seed),
        right: share(&|[a, _]| (a.right, a.steps)),
        consistent: share(&|[a, _]| (a.consistent, a.transitions)),
    }
}

/// Wishes that keep what a question hides from being used.
pub fn hidden(question: &Question, stock: &Stock) -> Wishes {
    let is_hidden = |place: &Place| {
        let Some(video) = stock.videos.get(&stitch_core::clip::VideoId(place.video)) else {
            return false;
        };
        let (file, start_ms, end_ms) = (file_name(&video.path), place.start_ms, place.end_ms);
        let clip = Source { file, start_ms, end_ms };
        question.hidden.iter().any(|hidden| is_same(hidden, &clip))
    };
    let banned = stock.pool.clips().iter().map(Place::from).filter(is_hidden).collect();
    let wish = Wish { banned, ..Wish::default() };
    (0..question.procedure.steps.len()).map(|step| (step, wish.clone())).collect()
}
