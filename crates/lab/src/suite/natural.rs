//! Natural procedures: texts as people write them, with what each step means, read and answered as a
//! user's would be, and judged by the made-up library's truth.

use std::collections::BTreeSet;

use serde::{Deserialize, Serialize};
use stitch_core::gaps::FEATURES;
use stitch_engine::demonstrate::{
    Asked, Choice, Demonstrator, Options, Stock, gap_features, solve,
};
use stitch_engine::progress::Progress;
use stitch_engine::recipe::Labeller;
use stitch_world::truth::Truth;
use stitch_world::vocabulary::{Domain, Kind, Verb};

use super::MeasureError;
use super::made_up::{RESAMPLES, file_name, same_place};
use super::metrics::{Estimate, count_ratio};
use super::reading::{matches, read_text};
use super::reliability::{calibration_error, reliability};

/// A text with its truth; one line of a set.
#[derive(Clone, Debug, Serialize, Deserialize)]
pub struct NaturalProcedure {
    pub id: String,
    pub domain: Domain,
    /// What it makes.
    pub title: String,
    /// The whole text as pasted.
    pub text: String,
    pub steps: Vec<NaturalStep>,
}

#[derive(Clone, Debug, Serialize, Deserialize)]
pub struct NaturalStep {
    /// Its text inside the whole.
    pub line: String,
    /// The actions whose clips rightly show it; empty where nothing in the library does.
    pub accept: Vec<(Verb, Kind)>,
    /// Whether it needs earlier steps or the title to be understood.
    pub context: bool,
}

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
    pub domain: Domain,
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
    pub features: Option<[f32; FEATURES]>,
    /// Whether the best clip of that first step, before the decision about gaps, is right.
    pub best_right: Option<bool>,
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
    /// Expected calibration error of the probabilities of chosen clips.
    pub calibration_error: f64,
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
    truth: &Truth,
    procedures: &[NaturalProcedure],
    options: &Options,
    progress: &dyn Progress,
) -> Result<NaturalReport, MeasureError> {
    progress.begin("answering procedures", procedures.len() as u64);
    let stock = Stock::load(with.library)?;
    let mut report = NaturalReport { procedures: procedures.len(), ..NaturalReport::default() };
    for natural in procedures {
        progress.check()?;
        judge(natural, &answer(with, &stock, natural, options)?, truth, &mut report);
        progress.advance(1);
    }
    report.groups = groups(&report.steps, procedures, options.seed);
    let predicted = report
        .steps
        .iter()
        .filter_map(|step| Some((f64::from(step.probability?), step.verdict == Verdict::Right)));
    report.calibration_error = calibration_error(&reliability(predicted));
    Ok(report)
}

/// A step that was read, with its answer.
#[derive(Clone, Debug, Default)]
struct Answered {
    text: String,
    chosen: Option<ChosenClip>,
    features: Option<[f32; FEATURES]>,
    /// Before the decision about gaps.
    best: Option<ChosenClip>,
}

#[derive(Clone, Debug)]
struct ChosenClip {
    file: String,
    span_ms: (u64, u64),
    text: String,
    probability: f32,
}

impl From<Choice> for ChosenClip {
    fn from(choice: Choice) -> Self {
        Self {
            file: file_name(&choice.source.path),
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
    let features = gap_features(with, stock, &asked, options)?;
    let never = Options { threshold: Some(0.0), ..options.clone() };
    let before = solve(with, stock, &asked, &never)?;
    let answer = solve(with, stock, &asked, options)?;
    let steps = answer.steps.into_iter().zip(before.steps).zip(features);
    let answered = steps.map(|((step, before), features)| Answered {
        text: step.text,
        chosen: step.chosen.map(ChosenClip::from),
        features,
        best: before.chosen.map(ChosenClip::from),
    });
    Ok(answered.collect())
}

/// Judges the steps of a procedure. A step may be read as several: one right clip makes it right, and
/// the first of them is its row for fitting.
fn judge(
    natural: &NaturalProcedure,
    answered: &[Answered],
    truth: &Truth,
    report: &mut NaturalReport,
) {
    let lines = natural.steps.iter().map(|step| step.line.as_str());
    let all_hits = matches(lines, answered.iter().map(|step| step.text.as_str()));
    let mut used = BTreeSet::new();
    for (step, hits) in natural.steps.iter().zip(all_hits) {
        used.extend(hits.iter().copied());
        report.missed_steps += usize::from(hits.is_empty());
        report.missed_unshown += usize::from(hits.is_empty() && step.accept.is_empty());
        let hits: Vec<&Answered> = hits.into_iter().map(|at| &answered[at]).collect();
        let right = |clip: &ChosenClip| is_accepted(clip, truth, &step.accept);
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
            domain: natural.domain,
            line: step.line.clone(),
            shown: !step.accept.is_empty(),
            context: step.context,
            verdict,
            reason: reason(verdict, !step.accept.is_empty(), decided.is_some(), best_right),
            clip: chosen.map(|clip| clip.text.clone()),
            probability: chosen.map(|clip| clip.probability),
            features: first.and_then(|first| first.features),
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

/// Whether the clip shows one of the accepted actions.
fn is_accepted(clip: &ChosenClip, truth: &Truth, accept: &[(Verb, Kind)]) -> bool {
    let videos = truth.videos.iter().filter(|video| video.file == clip.file);
    let mut steps = videos.flat_map(|video| &video.steps);
    steps.any(|step| {
        let subject = step.things.first();
        same_place((step.start_ms, step.end_ms), clip.span_ms)
            && subject.is_some_and(|thing| accept.contains(&(step.verb, thing.kind)))
    })
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
    for domain in [Domain::Cooking, Domain::Woodworking, Domain::Gardening] {
        let name = format!("  {domain:?}").to_lowercase();
        groups.push(group(&name, &|step| step.shown && step.domain == domain));
    }
    groups.push(group("steps that nothing shows", &|step| !step.shown));
    groups
}

#[cfg(test)]
mod tests {
    use std::path::Path;

    use super::super::reading::{letters, read_set};
    use super::*;

    #[test]
    fn the_committed_sets_are_sound() {
        let root = Path::new(env!("CARGO_MANIFEST_DIR")).join("data/natural");
        let development: Vec<NaturalProcedure> = read_set(&root.join("development.jsonl")).unwrap();
        let reporting: Vec<NaturalProcedure> = read_set(&root.join("reporting.jsonl")).unwrap();
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
        let mut truth = Truth::new(1, &stitch_world::library::scripts(1, 1));
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
            accept: accept.to_vec(),
            context: accept.len() > 1,
        };
        NaturalProcedure {
            id: "p".into(),
            domain: Domain::Cooking,
            title: String::new(),
            text: String::new(),
            steps: steps.iter().map(step).collect(),
        }
    }

    fn clip(text: &str, start_ms: u64, probability: f32) -> Option<ChosenClip> {
        let (file, text) = ("a.mp4".into(), text.into());
        Some(ChosenClip { file, span_ms: (start_ms, start_ms + 3000), text, probability })
    }

    fn answered(text: &str, chosen: Option<ChosenClip>, best: Option<ChosenClip>) -> Answered {
        Answered { text: text.into(), chosen, features: None, best }
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
        (steps[0].features, steps[1].features) = (Some([0.1; FEATURES]), Some([0.2; FEATURES]));
        let mut report = NaturalReport::default();
        judge(&natural, &steps, &truth(), &mut report);
        let [chop, fry] = &report.steps[..] else { panic!("{:?}", report.steps) };
        assert_eq!((chop.verdict, chop.reason), (Verdict::Right, None));
        assert_eq!((chop.clip.as_deref(), chop.probability), (Some("right"), Some(0.6)));
        assert_eq!((chop.features, chop.best_right), (Some([0.1; FEATURES]), Some(false)));
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
        judge(&natural, &steps, &truth(), &mut report);
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
        judge(&natural, &steps, &truth(), &mut report);
        let groups = groups(&report.steps, &[natural], 1);
        let of = |name: &str| {
            let group = groups.iter().find(|group| group.name.trim() == name).unwrap();
            (group.steps, group.right.value, group.wrong.value, group.gap.value)
        };
        assert_eq!(of("shown steps"), (2, 0.5, 0.5, 0.0));
        assert_eq!(of("that stand alone"), (1, 1.0, 0.0, 0.0));
        assert_eq!(of("that need context"), (1, 0.0, 1.0, 0.0));
        assert_eq!((of("cooking").0, of("gardening").0), (2, 0));
        assert_eq!(of("steps that nothing shows"), (1, 0.0, 0.0, 1.0));
    }
}
