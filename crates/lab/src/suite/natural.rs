//! Natural procedures: labelled texts, read and answered as a user's would be, and judged by their labels.

use std::collections::BTreeSet;
use std::path::{Path, PathBuf};

use serde::Serialize;
use stitch_engine::demonstrate::{
    Asked, Choice, Demonstrator, GapEvidence, Options, ReadClip, StepEvidence, Stock, solve,
    step_evidence,
};
use stitch_engine::progress::Progress;
use stitch_engine::recipe::Labeller;
use stitch_world::truth::Truth;

use super::MeasureError;
use super::labels::{self, NaturalProcedure};
use super::made_up::RESAMPLES;
use super::metrics::{Estimate, count_ratio};
use super::reading::{matches, read_text};
use super::reliability::GroupReliability;
use crate::rows::first_of_each;

/// How a step was answered: by a clip that shows it, by another, or as a gap.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize)]
#[serde(rename_all = "snake_case")]
pub enum Verdict {
    Right,
    Wrong,
    Gap,
}

#[derive(Clone, Debug, Serialize)]
pub struct JudgedStep {
    /// The procedure's id.
    pub id: String,
    pub domain: Option<String>,
    pub line: String,
    /// Whether the library shows the step.
    pub shown: bool,
    pub context: bool,
    pub verdict: Verdict,
    /// Why the step is not answered rightly; none where it is.
    pub reason: Option<&'static str>,
    /// The text of the clip that decided the verdict; none for a gap.
    pub clip: Option<String>,
    /// The probability of that clip.
    pub probability: Option<f32>,
    /// What the decision about gaps went by, for the first step that this one was read as: rows to fit
    /// must not be chosen by their outcome.
    pub gap: Option<GapEvidence>,
    /// The clips of that first step that the cross-encoder read.
    pub read: Vec<JudgedClip>,
    /// Whether the best clip of that first step, before the decision about gaps, is right.
    pub best_right: Option<bool>,
}

/// What the evidence says of a clip, in log-odds, and whether it shows the step.
#[derive(Clone, Copy, Debug, PartialEq, Serialize)]
pub struct JudgedClip {
    /// Without the cross-encoder.
    pub odds: f32,
    /// The cross-encoder alone.
    pub cross: f32,
    pub right: bool,
}

#[derive(Clone, Debug, Default, Serialize)]
pub struct NaturalReport {
    pub procedures: usize,
    pub steps: Vec<JudgedStep>,
    /// Lines that are no steps and were read as one, with the procedure's id.
    pub extra_steps: Vec<(String, String)>,
    /// Steps that were not read as one.
    pub missed_steps: usize,
    /// Those of them that nothing shows; they count as gaps.
    pub missed_unshown: usize,
    pub groups: Vec<Group>,
    /// Of the probabilities of chosen clips: all, and each domain.
    pub reliability: Vec<GroupReliability>,
}

/// Shares of the verdicts in a group of steps.
#[derive(Clone, Debug, Serialize)]
pub struct Group {
    pub name: String,
    pub steps: usize,
    pub right: Estimate,
    pub wrong: Estimate,
    pub gap: Estimate,
}

/// Reads and answers every procedure and judges every step.
pub fn evaluate(
    with: &Demonstrator<'_>,
    world: Option<&Truth>,
    procedures: &[NaturalProcedure],
    options: &Options,
    progress: &dyn Progress,
) -> Result<NaturalReport, MeasureError> {
    let stock = Stock::load(with.library)?;
    let videos: Vec<&Path> = stock.videos.values().map(|video| video.path.as_path()).collect();
    labels::check(procedures, &videos, world)?;
    progress.begin("answering procedures", procedures.len() as u64);
    let mut report = NaturalReport { procedures: procedures.len(), ..NaturalReport::default() };
    for natural in procedures {
        progress.check()?;
        judge(natural, &answer(with, &stock, natural, options)?, world, &mut report);
        progress.advance(1);
    }
    report.groups = groups(&report.steps, procedures, options.seed);
    report.reliability = reliability(&report.steps);
    Ok(report)
}

/// The domains in the order in which they first appear.
fn domains(steps: &[JudgedStep]) -> Vec<&str> {
    first_of_each(steps.iter().filter_map(|step| step.domain.as_deref()))
}

fn reliability(steps: &[JudgedStep]) -> Vec<GroupReliability> {
    let of = |name: &str, domain: Option<&str>| {
        let own = steps.iter().filter(|step| domain.is_none() || step.domain.as_deref() == domain);
        let predicted = own.filter_map(|step| {
            Some((f64::from(step.probability?), step.verdict == Verdict::Right))
        });
        GroupReliability::new(name, predicted)
    };
    let by_domain = domains(steps).into_iter().map(|domain| of(domain, Some(domain)));
    std::iter::once(of("all", None)).chain(by_domain).collect()
}

/// A step that was read, with its answer.
#[derive(Clone, Debug, Default)]
struct Answered {
    text: String,
    chosen: Option<ChosenClip>,
    gap: Option<GapEvidence>,
    read: Vec<ReadClip>,
    /// Before the decision about gaps.
    best: Option<ChosenClip>,
}

#[derive(Clone, Debug)]
struct ChosenClip {
    video: PathBuf,
    span_ms: (u64, u64),
    text: String,
    probability: f32,
}

impl From<Choice> for ChosenClip {
    fn from(choice: Choice) -> Self {
        Self {
            video: choice.source.path,
            span_ms: (choice.span.start_ms, choice.span.end_ms),
            text: choice.text,
            probability: choice.similarity.probability,
        }
    }
}

fn answer(
    with: &Demonstrator<'_>,
    stock: &Stock,
    natural: &NaturalProcedure,
    options: &Options,
) -> Result<Vec<Answered>, MeasureError> {
    let labeller: &dyn Labeller = with.sentence;
    let Some(procedure) = read_text("natural.txt", &natural.text, Some(labeller))? else {
        return Ok(Vec::new());
    };
    let asked = Asked::encode(with, &procedure)?;
    let evidence = step_evidence(with, stock, &asked, options)?;
    let never = Options { threshold: Some(0.0), ..options.clone() };
    let before = solve(with, stock, &asked, &never)?;
    let answer = solve(with, stock, &asked, options)?;
    let steps = answer.steps.into_iter().zip(before.steps).zip(evidence);
    let answered = steps.map(|((step, before), StepEvidence { gap, read })| Answered {
        text: step.text,
        chosen: step.chosen.map(ChosenClip::from),
        gap,
        read,
        best: before.chosen.map(ChosenClip::from),
    });
    Ok(answered.collect())
}

/// Judges the steps of a procedure. A step may be read as several: one right clip makes it right, and
/// the first of them is its row for fitting.
fn judge(
    natural: &NaturalProcedure,
    answered: &[Answered],
    world: Option<&Truth>,
    report: &mut NaturalReport,
) {
    let lines = natural.steps.iter().map(|step| step.line.as_str());
    let all_hits = matches(lines, answered.iter().map(|step| step.text.as_str()));
    let mut used = BTreeSet::new();
    for (step, hits) in natural.steps.iter().zip(all_hits) {
        used.extend(hits.iter().copied());
        report.missed_steps += usize::from(hits.is_empty());
        let shown_by = &step.shown_by;
        report.missed_unshown += usize::from(hits.is_empty() && shown_by.is_empty());
        let hits: Vec<&Answered> = hits.into_iter().map(|at| &answered[at]).collect();
        let right = |clip: &ChosenClip| shown_by.includes(&clip.video, clip.span_ms, world);
        let judged = |read: &ReadClip| JudgedClip {
            odds: read.odds,
            cross: read.cross,
            right: shown_by.includes(&read.video, read.span_ms, world),
        };
        let is_right = |step: &&&Answered| step.chosen.as_ref().is_some_and(right);
        let shown = hits.iter().find(|step| step.chosen.is_some());
        let first = hits.first().copied();
        let decided = hits.iter().find(is_right).or(shown).copied().or(first);
        let chosen = decided.and_then(|decided| decided.chosen.as_ref());
        let verdict = match chosen.map(right) {
            Some(true) => Verdict::Right,
            Some(false) => Verdict::Wrong,
            None => Verdict::Gap,
        };
        let best_right = first.and_then(|first| first.best.as_ref()).map(right);
        report.steps.push(JudgedStep {
            id: natural.id.clone(),
            domain: natural.domain.clone(),
            line: step.line.clone(),
            shown: !shown_by.is_empty(),
            context: step.context,
            verdict,
            reason: reason(verdict, !shown_by.is_empty(), decided.is_some(), best_right),
            clip: chosen.map(|clip| clip.text.clone()),
            probability: chosen.map(|clip| clip.probability),
            gap: first.and_then(|first| first.gap),
            read: first.map(|first| first.read.iter().map(judged).collect()).unwrap_or_default(),
            best_right,
        });
    }
    let extra = answered.iter().enumerate().filter(|(at, _)| !used.contains(at));
    report.extra_steps.extend(extra.map(|(_, step)| (natural.id.clone(), step.text.clone())));
}

/// Why a step is not answered rightly.
fn reason(
    verdict: Verdict,
    shown: bool,
    read: bool,
    best_right: Option<bool>,
) -> Option<&'static str> {
    match (shown, verdict) {
        _ if !read => Some("not read as a step"),
        (true, Verdict::Right) | (false, Verdict::Gap) => None,
        (false, _) => Some("shown though nothing shows it"),
        (true, Verdict::Gap) if best_right == Some(true) => Some("called a gap"),
        (true, _) => Some("outranked"),
    }
}

/// Shares for all shown steps, by context and domain, and for the unshown ones.
fn groups(steps: &[JudgedStep], procedures: &[NaturalProcedure], seed: u64) -> Vec<Group> {
    let group = |name: &str, of: &dyn Fn(&JudgedStep) -> bool| {
        let share = |verdict: Verdict| {
            let counts = |procedure: &NaturalProcedure| {
                let own = || steps.iter().filter(|step| step.id == procedure.id && of(step));
                (own().filter(|step| step.verdict == verdict).count(), own().count())
            };
            count_ratio(procedures, counts, RESAMPLES, seed)
        };
        Group {
            name: name.to_owned(),
            steps: steps.iter().filter(|step| of(step)).count(),
            right: share(Verdict::Right),
            wrong: share(Verdict::Wrong),
            gap: share(Verdict::Gap),
        }
    };
    let mut groups = vec![
        group("shown steps", &|step| step.shown),
        group("  that stand alone", &|step| step.shown && !step.context),
        group("  that need context", &|step| step.shown && step.context),
    ];
    for domain in domains(steps) {
        let is_of = |step: &JudgedStep| step.domain.as_deref() == Some(domain);
        groups.push(group(&format!("  {domain}"), &|step| step.shown && is_of(step)));
    }
    groups.push(group("steps that nothing shows", &|step| !step.shown));
    groups
}

#[cfg(test)]
mod tests {
    use stitch_core::gaps::FEATURES;
    use stitch_world::catalogue::TaskSet;
    use stitch_world::vocabulary::{Kind, Verb};

    use super::super::reading::letters;
    use super::labels::{NaturalStep, ShownBy, read};
    use super::*;

    #[test]
    fn the_committed_sets_are_sound() {
        let root = Path::new(env!("CARGO_MANIFEST_DIR")).join("data/natural");
        let mut development: Vec<NaturalProcedure> = read(&root.join("development.jsonl")).unwrap();
        development.extend(read(&root.join("development-2.jsonl")).unwrap());
        let reporting: Vec<NaturalProcedure> = read(&root.join("reporting.jsonl")).unwrap();
        assert!(development.len() + reporting.len() >= 150);
        let lines = |set: &[NaturalProcedure]| -> BTreeSet<String> {
            set.iter().flat_map(|p| &p.steps).map(|step| letters(&step.line)).collect()
        };
        assert_eq!(lines(&development).intersection(&lines(&reporting)).count(), 0);
        let all = || development.iter().chain(&reporting);
        let ids: BTreeSet<&str> = all().map(|procedure| procedure.id.as_str()).collect();
        assert_eq!(ids.len(), all().count(), "an id twice");
        for procedure in all() {
            let text = letters(&procedure.text);
            assert!((4..=10).contains(&procedure.steps.len()), "{}", procedure.id);
            for step in &procedure.steps {
                assert!(text.contains(&letters(&step.line)), "{}: {}", procedure.id, step.line);
            }
        }
    }

    /// One video that chops an onion until 4 s and fries mince until 8 s.
    fn truth() -> Truth {
        let tasks = TaskSet::Demonstration;
        let mut truth = Truth::new(tasks, 1, &stitch_world::library::scripts(tasks, 1, 1));
        let video = &mut truth.videos[0];
        video.file = "a.mp4".into();
        video.steps.truncate(2);
        for (step, ((verb, kind), start)) in video.steps.iter_mut().zip([(CHOP, 0), (FRY, 4000)]) {
            (step.verb, step.start_ms, step.end_ms) = (verb, start, start + 4000);
            step.things[0].kind = kind;
        }
        truth
    }

    fn procedure(steps: &[(&str, &[(Verb, Kind)])]) -> NaturalProcedure {
        let step = |(line, accept): &(&str, &[(Verb, Kind)])| NaturalStep {
            line: (*line).into(),
            shown_by: ShownBy::Actions(accept.to_vec()),
            context: accept.len() > 1,
        };
        NaturalProcedure {
            id: "p".into(),
            domain: Some("cooking".into()),
            text: String::new(),
            steps: steps.iter().map(step).collect(),
        }
    }

    fn clip(text: &str, start_ms: u64, probability: f32) -> Option<ChosenClip> {
        let (video, text) = ("/videos/a.mp4".into(), text.into());
        Some(ChosenClip { video, span_ms: (start_ms, start_ms + 3000), text, probability })
    }

    fn answered(text: &str, chosen: Option<ChosenClip>, best: Option<ChosenClip>) -> Answered {
        Answered { text: text.into(), chosen, gap: None, read: Vec::new(), best }
    }

    const CHOP: (Verb, Kind) = (Verb::Chop, Kind::Onion);
    const FRY: (Verb, Kind) = (Verb::Fry, Kind::Mince);

    #[test]
    fn the_deciding_clip_is_reported_and_the_first_is_the_row() {
        let natural = procedure(&[("Chop the onion, then peel it.", &[CHOP]), ("Fry.", &[FRY])]);
        let mut steps = [
            answered("Chop the onion", clip("wrong", 5000, 0.9), clip("wrong", 5000, 0.9)),
            answered("then peel it", clip("right", 0, 0.6), clip("right", 0, 0.6)),
            answered("Fry", None, clip("right", 4500, 0.2)),
            answered("Enjoy!", None, None),
        ];
        let gap = |x| {
            Some(GapEvidence {
                features: [x; FEATURES],
                probability: x,
                built_in: x,
                threshold: 0.5,
            })
        };
        (steps[0].gap, steps[1].gap) = (gap(0.1), gap(0.2));
        let mut report = NaturalReport::default();
        judge(&natural, &steps, Some(&truth()), &mut report);
        let [chop, fry] = &report.steps[..] else { panic!("{:?}", report.steps) };
        assert_eq!((chop.verdict, chop.reason), (Verdict::Right, None));
        assert_eq!((chop.clip.as_deref(), chop.probability), (Some("right"), Some(0.6)));
        assert_eq!((chop.gap, chop.best_right), (gap(0.1), Some(false)));
        assert_eq!((fry.verdict, fry.reason), (Verdict::Gap, Some("called a gap")));
        assert_eq!((&fry.clip, fry.probability, fry.best_right), (&None, None, Some(true)));
        assert_eq!(report.extra_steps, [("p".to_owned(), "Enjoy!".to_owned())]);
        assert_eq!((report.missed_steps, report.missed_unshown), (0, 0));
    }

    #[test]
    fn unshown_and_unread_text_are_counted_apart() {
        let natural =
            procedure(&[("Rest.", &[]), ("Cool.", &[]), ("Wait.", &[]), ("Fry.", &[FRY])]);
        let steps = [answered("Rest", clip("x", 0, 0.5), None), answered("Cool", None, None)];
        let mut report = NaturalReport::default();
        judge(&natural, &steps, Some(&truth()), &mut report);
        let found: Vec<_> = report.steps.iter().map(|step| (step.verdict, step.reason)).collect();
        let expected = [
            (Verdict::Wrong, Some("shown though nothing shows it")),
            (Verdict::Gap, None),
            (Verdict::Gap, Some("not read as a step")),
            (Verdict::Gap, Some("not read as a step")),
        ];
        assert_eq!(found, expected);
        assert_eq!((report.missed_steps, report.missed_unshown), (2, 1));
    }

    #[test]
    fn groups_hold_their_steps_and_shares_of_verdicts() {
        let natural = procedure(&[("Chop.", &[CHOP]), ("Fry.", &[FRY, CHOP]), ("Rest.", &[])]);
        let steps = [
            answered("Chop", clip("right", 0, 0.9), None),
            answered("Fry", clip("another video's end", 9000, 0.9), None),
            answered("Rest", None, None),
        ];
        let mut report = NaturalReport::default();
        judge(&natural, &steps, Some(&truth()), &mut report);
        let groups = groups(&report.steps, &[natural], 1);
        let of = |name: &str| {
            let group = groups.iter().find(|group| group.name.trim() == name).unwrap();
            (group.steps, group.right.value, group.wrong.value, group.gap.value)
        };
        assert_eq!(of("shown steps"), (2, 0.5, 0.5, 0.0));
        assert_eq!(of("that stand alone"), (1, 1.0, 0.0, 0.0));
        assert_eq!(of("that need context"), (1, 0.0, 1.0, 0.0));
        assert_eq!(of("cooking").0, 2);
        assert_eq!(groups.len(), 5, "only domains that there are");
        assert_eq!(of("steps that nothing shows"), (1, 0.0, 0.0, 1.0));
    }

    #[test]
    fn probabilities_are_compared_with_verdicts_in_all_and_by_domain() {
        let mut report = NaturalReport::default();
        for (domain, start_ms, probability) in [("cooking", 0, 0.8), ("baking", 9000, 0.6)] {
            let natural = NaturalProcedure {
                domain: Some(domain.into()),
                ..procedure(&[("Chop.", &[CHOP]), ("Rest.", &[])])
            };
            let steps = [answered("Chop", clip("x", start_ms, probability), None)];
            judge(&natural, &steps, Some(&truth()), &mut report);
        }
        let found = reliability(&report.steps);
        let names: Vec<&str> = found.iter().map(|group| group.name.as_str()).collect();
        assert_eq!(names, ["all", "cooking", "baking"]);
        for (group, expected) in found.iter().zip([0.4, 0.2, 0.6]) {
            assert!((group.calibration_error - expected).abs() < 1e-6, "{group:?}");
        }
    }
}
