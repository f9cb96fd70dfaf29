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
use stitch_world::library::{MixedStep, Source};
use stitch_world::questions::{Question, QuestionKind};
use stitch_world::truth::{StepTruth, Truth, is_consistent};
use stitch_world::vocabulary::{Kind, State, Thing};

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
        judged.right += usize::from(is_right(step, clip.as_ref()));
        let Some(clip) = clip else { continue };
        for thing in shown(truth, clip).map_or(&[][..], |step| &step.things) {
            if let Some(left) = states.insert(thing.kind, thing.after) {
                judged.transitions += 1;
                judged.consistent += usize::from(is_consistent(thing.kind, left, thing.before));
            }
        }
    }
    judged
}

fn is_right(step: &MixedStep, clip: Option<&Source>) -> bool {
    match clip {
        None => step.sources.is_empty(),
        Some(clip) => step.sources.iter().any(|source| is_same(source, clip)),
    }
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

/// A step that the first method answered wrongly, and why.
#[derive(Clone, Debug, Serialize)]
pub struct WrongAnswer {
    pub kind: QuestionKind,
    pub step: String,
    /// What the clip shows; none for a gap.
    pub shown: Option<String>,
    pub reason: &'static str,
}

impl WrongAnswer {
    fn of(step: &MixedStep, clip: Option<&Source>, truth: &Truth, kind: QuestionKind) -> Self {
        let shown = clip.and_then(|clip| shown(truth, clip));
        let reason = match (clip, shown) {
            (None, _) => "called a gap",
            _ if step.sources.is_empty() => "nothing shows it",
            (_, None) => "shows no step",
            (_, Some(shown)) => {
                let subject = |things: &[Thing]| things.first().map(|thing| thing.kind);
                let same_thing = subject(&shown.things) == subject(&step.things);
                match (shown.verb == step.verb, same_thing) {
                    (true, true) => "another state",
                    (true, false) => "another thing",
                    (false, true) => "another action",
                    (false, false) => "another action and thing",
                }
            }
        };
        Self { kind, step: step.text.clone(), shown: shown.map(|step| step.text.clone()), reason }
    }
}

fn misses<'a>(
    question: &'a Question,
    answer: &'a [Answered],
    truth: &'a Truth,
) -> impl Iterator<Item = WrongAnswer> + 'a {
    let wrong = |(step, clip): &(&MixedStep, &Answered)| !is_right(step, clip.as_ref());
    let steps = question.procedure.steps.iter().zip(answer).filter(wrong);
    steps.map(|(step, clip)| WrongAnswer::of(step, clip.as_ref(), truth, question.kind))
}

/// Both methods' answers to the same questions, and the errors of the first.
pub fn compare(
    methods: [&Demonstrator<'_>; 2],
    truth: &Truth,
    questions: &[Question],
    options: &Options,
    progress: &dyn Progress,
) -> Result<(Vec<QuestionGroup>, Vec<WrongAnswer>), MeasureError> {
    let stock = Stock::load(methods[0].library)?;
    progress.begin("answering questions", questions.len() as u64);
    let mut all: Vec<(String, [Judged; 2])> = Vec::new();
    let mut errors = Vec::new();
    for question in questions {
        progress.check()?;
        let steps = question.procedure.steps.iter().map(|step| &step.text);
        let asked = Asked::encode(methods[0], &Procedure::new(&question.procedure.title, steps)?)?;
        let options = Options { wishes: hidden(question, &stock), ..options.clone() };
        let answer = |with: &Demonstrator<'_>| -> Result<Vec<Answered>, MeasureError> {
            Ok(of_demonstration(&solve(with, &stock, &asked, &options)?))
        };
        let changes = question.procedure.changes.min(3);
        let answers = [answer(methods[0])?, answer(methods[1])?];
        errors.extend(misses(question, &answers[0], truth));
        let judged = answers.map(|answer| judge(question, &answer, truth));
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
    let groups = std::iter::once(group("all", &of_kinds, options.seed)).chain(named).collect();
    Ok((groups, errors))
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
