//! Questions about a library whose right answers are known, some of which need the whole sequence: steps that
//! say "it", clips that show the right thing in the wrong state, steps that nothing shows.

use serde::Serialize;

use crate::catalogue::StepData;
use crate::library::{MixedProcedure, MixedStep, Source, mixed};
use crate::narration::sentence;
use crate::random::{SplitMix64, percent, stream};
use crate::truth::{StepTruth, Truth, VideoTruth};
use crate::vocabulary::Action;

/// What makes a question hard.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, PartialOrd, Ord, Serialize)]
#[serde(rename_all = "snake_case")]
pub enum QuestionKind {
    /// Stretches of several videos, every step in words of its own.
    Ordinary,
    /// Some steps say "it" or "them": what they mean depends on an earlier step.
    Contextual,
    /// The same, and no video shows both the step and the earlier one it depends on, while other clips show the
    /// same done to the same thing in another state.
    State,
    /// As contextual, with a step that nothing shows.
    Gap,
}

impl QuestionKind {
    pub const ALL: [Self; 4] = [Self::Ordinary, Self::Contextual, Self::State, Self::Gap];
}

#[derive(Clone, Debug)]
pub struct Question {
    pub kind: QuestionKind,
    /// Sources leave out what is hidden; a step without any is one that nothing shows.
    pub procedure: MixedProcedure,
    /// Spans that the library is taken not to have.
    pub hidden: Vec<Source>,
}

/// As many questions of each kind, as far as the library gives them.
pub fn questions(truth: &Truth, of_each_kind: usize, seed: u64) -> Vec<Question> {
    let ordinary = mixed(truth, of_each_kind, seed).into_iter().map(|procedure| Question {
        kind: QuestionKind::Ordinary,
        procedure,
        hidden: Vec::new(),
    });
    let mut all: Vec<Question> = ordinary.collect();
    for kind in [QuestionKind::Contextual, QuestionKind::State, QuestionKind::Gap] {
        let mut random = stream(seed, &format!("{kind:?} questions"));
        let attempts = (0..of_each_kind * 50).filter_map(|_| question(truth, kind, &mut random));
        all.extend(attempts.take(of_each_kind));
    }
    all
}

/// One attempt: a stretch of a video, with a step that depends on an earlier one.
fn question(truth: &Truth, kind: QuestionKind, random: &mut SplitMix64) -> Option<Question> {
    let video = truth.videos.get(random.below(truth.videos.len()))?;
    let length = (random.between(4, 7) as usize).min(video.steps.len());
    let start = random.below(video.steps.len() - length + 1);
    let steps = &video.steps[start..start + length];
    let dependent: Vec<(usize, usize)> = (0..length)
        .filter(|at| truth.data(&steps[*at]).is_some_and(|data| !data.contextual.is_empty()))
        .filter_map(|at| Some((depends_on(steps, at)?, at)))
        .collect();
    let &(earlier, later) = dependent.get(random.below(dependent.len().max(1)))?;
    let hidden = match kind {
        QuestionKind::State => split(truth, &steps[earlier], &steps[later], random)?,
        QuestionKind::Gap => {
            let free: Vec<usize> = (0..length).filter(|at| *at != earlier).collect();
            showing(truth, &steps[free[random.below(free.len())]])
        }
        _ => Vec::new(),
    };
    let says_it = |at: usize| dependent.iter().any(|(_, later)| *later == at);
    let wording = random.below(1 << 16);
    let step = |at: usize| step(truth, &steps[at], says_it(at), &hidden, wording + at);
    let steps: Vec<MixedStep> = (0..length).map(step).collect::<Option<_>>()?;
    let unshown = steps.iter().filter(|step| step.sources.is_empty()).count();
    let expected = usize::from(kind == QuestionKind::Gap);
    (unshown == expected).then(|| Question { kind, procedure: procedure(video, steps), hidden })
}

fn procedure(video: &VideoTruth, steps: Vec<MixedStep>) -> MixedProcedure {
    let shown: Vec<MixedStep> =
        steps.iter().filter(|step| !step.sources.is_empty()).cloned().collect();
    let changes = crate::library::fewest_changes(&shown);
    MixedProcedure {
        title: video.title.clone(),
        domains: vec![video.domain],
        steps,
        fewest_sources: 1,
        changes,
    }
}

/// The last step before this one that is about the same thing.
fn depends_on(steps: &[StepTruth], at: usize) -> Option<usize> {
    let subject = steps[at].things.first()?;
    let about = |step: &StepTruth| step.things.iter().any(|thing| thing.kind == subject.kind);
    (0..at).rev().find(|earlier| about(&steps[*earlier]))
}

/// Hides one of both steps in every video that shows both; none where then one of them is shown nowhere, or
/// where nothing else shows the later step's action on the same thing in another state.
fn split(
    truth: &Truth,
    earlier: &StepTruth,
    later: &StepTruth,
    random: &mut SplitMix64,
) -> Option<Vec<Source>> {
    let is = |step: &StepTruth, like: &StepTruth| step.shows(&action(like));
    let mut hidden = Vec::new();
    let (mut earlier_left, mut later_left) = (0, 0);
    for video in &truth.videos {
        let of = |like: &StepTruth| -> Vec<Source> {
            video
                .steps
                .iter()
                .filter(|step| is(step, like))
                .map(|step| source(video, step))
                .collect()
        };
        let (early, late) = (of(earlier), of(later));
        let keeps_early = late.is_empty() || (!early.is_empty() && percent(random, 50));
        let shows_early = keeps_early && !early.is_empty();
        earlier_left += usize::from(shows_early);
        later_left += usize::from(!shows_early && !late.is_empty());
        if !early.is_empty() && !late.is_empty() {
            hidden.extend(if keeps_early { late } else { early });
        }
    }
    let rival = |step: &StepTruth| {
        let (rival, own) = (step.things.first(), later.things.first());
        step.verb == later.verb
            && rival.map(|thing| thing.kind) == own.map(|thing| thing.kind)
            && rival != own
    };
    let has_rival = truth.videos.iter().flat_map(|video| &video.steps).any(rival);
    (earlier_left > 0 && later_left > 0 && has_rival).then_some(hidden)
}

fn showing(truth: &Truth, step: &StepTruth) -> Vec<Source> {
    let action = action(step);
    let of = |video: &VideoTruth| -> Vec<Source> {
        let shown = video.steps.iter().filter(|other| other.shows(&action));
        shown.map(|shown| source(video, shown)).collect()
    };
    truth.videos.iter().flat_map(of).collect()
}

fn action(step: &StepTruth) -> Action {
    Action { verb: step.verb, things: step.things.clone() }
}

fn source(video: &VideoTruth, step: &StepTruth) -> Source {
    Source { file: video.file.clone(), start_ms: step.start_ms, end_ms: step.end_ms }
}

fn step(
    truth: &Truth,
    step: &StepTruth,
    says_it: bool,
    hidden: &[Source],
    wording: usize,
) -> Option<MixedStep> {
    let data: &StepData = truth.data(step)?;
    let words = if says_it { &data.contextual } else { &data.queries };
    let text = sentence(words.get(wording % words.len().max(1))?);
    let shown = showing(truth, step).into_iter().filter(|source| !hidden.contains(source));
    Some(MixedStep { text, verb: step.verb, things: step.things.clone(), sources: shown.collect() })
}
