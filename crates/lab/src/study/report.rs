//! The report: win rates with intervals clustered by sample, agreement, and where raters disagree.

use std::collections::{BTreeMap, BTreeSet};
use std::fmt;

use serde::Serialize;

use super::agreement;
use crate::rows::{first_of_each, grouped};
use crate::suite::metrics::{Estimate, ratio};

#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize)]
#[serde(rename_all = "snake_case")]
pub enum Preference {
    A,
    Tie,
    B,
}

impl Preference {
    /// Of the first method: a tie is half a win.
    fn score(self) -> f64 {
        1.0 - self as usize as f64 / 2.0
    }
}

/// One answer of one rater to one question about two methods on one sample.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Judgement {
    pub rater: String,
    pub sample: String,
    pub a: String,
    pub b: String,
    pub question: String,
    pub preference: Preference,
}

#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct Wins {
    pub method: String,
    pub over: String,
    pub question: String,
    /// The share of answers won, ties as half.
    pub rate: Estimate,
    pub answers: usize,
    pub ties: usize,
}

#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct Agreement {
    pub question: String,
    /// Pairs that two or more raters answered.
    pub units: usize,
    /// The share of pairs of raters who say the same.
    pub pairwise: Option<f64>,
    pub fleiss_kappa: Option<f64>,
    /// Krippendorff's α, the three answers as names.
    pub krippendorff_alpha: Option<f64>,
    /// The same, a tie between the other two.
    pub krippendorff_alpha_interval: Option<f64>,
}

/// A pair that raters disagree on.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct Dispute {
    pub sample: String,
    pub a: String,
    pub b: String,
    pub question: String,
    /// How many prefer the first, see no difference, prefer the second.
    pub votes: [usize; 3],
}

#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct StudyReport {
    pub raters: usize,
    pub samples: usize,
    pub wins: Vec<Wins>,
    pub agreement: Vec<Agreement>,
    /// Where raters disagree, most first.
    pub disputes: Vec<Dispute>,
}

const RESAMPLES: usize = 2000;

impl StudyReport {
    /// The seed is that of the intervals.
    pub fn new(judgements: &[Judgement], seed: u64) -> Self {
        let distinct =
            |of: fn(&Judgement) -> &str| judgements.iter().map(of).collect::<BTreeSet<_>>().len();
        let questions = first_of_each(judgements.iter().map(|one| one.question.as_str()));
        Self {
            raters: distinct(|one| &one.rater),
            samples: distinct(|one| &one.sample),
            wins: questions.iter().flat_map(|q| wins(judgements, q, seed)).collect(),
            agreement: questions.iter().map(|q| agree(judgements, q)).collect(),
            disputes: disputes(judgements),
        }
    }
}

fn wins(judgements: &[Judgement], question: &str, seed: u64) -> Vec<Wins> {
    let own = judgements.iter().filter(|one| one.question == question);
    let duels = grouped(own.map(|one| ((one.a.as_str(), one.b.as_str()), one)));
    let row = |((a, b), answers): ((&str, &str), Vec<&Judgement>)| {
        let mut clusters: BTreeMap<&str, (f64, f64)> = BTreeMap::new();
        for one in &answers {
            let cluster = clusters.entry(&one.sample).or_default();
            cluster.0 += one.preference.score();
            cluster.1 += 1.0;
        }
        let clusters: Vec<(f64, f64)> = clusters.into_values().collect();
        Wins {
            method: a.into(),
            over: b.into(),
            question: question.into(),
            rate: ratio(&clusters, RESAMPLES, seed),
            ties: answers.iter().filter(|one| one.preference == Preference::Tie).count(),
            answers: answers.len(),
        }
    };
    duels.into_iter().map(row).collect()
}

/// The ratings of each pair.
fn units<'a>(
    judgements: impl Iterator<Item = &'a Judgement>,
) -> BTreeMap<(&'a str, &'a str, &'a str, &'a str), Vec<usize>> {
    grouped(judgements.map(|one| {
        let unit = (one.sample.as_str(), one.a.as_str(), one.b.as_str(), one.question.as_str());
        (unit, one.preference as usize)
    }))
}

fn agree(judgements: &[Judgement], question: &str) -> Agreement {
    let said = units(judgements.iter().filter(|one| one.question == question));
    let said: Vec<Vec<usize>> = said.into_values().collect();
    Agreement {
        question: question.into(),
        units: said.iter().filter(|said| said.len() > 1).count(),
        pairwise: agreement::pairwise(&said),
        fleiss_kappa: agreement::fleiss(&said),
        krippendorff_alpha: agreement::krippendorff(&said, agreement::nominal),
        krippendorff_alpha_interval: agreement::krippendorff(&said, agreement::interval),
    }
}

/// Pairs of which at least one rater prefers either side, the most even first.
fn disputes(judgements: &[Judgement]) -> Vec<Dispute> {
    let dispute = |((sample, a, b, question), said): ((&str, &str, &str, &str), Vec<usize>)| {
        let votes = [0, 1, 2].map(|category| said.iter().filter(|one| **one == category).count());
        let [sample, a, b, question] = [sample, a, b, question].map(str::to_owned);
        Dispute { sample, a, b, question, votes }
    };
    let mut all: Vec<Dispute> = units(judgements.iter()).into_iter().map(dispute).collect();
    all.retain(|dispute| dispute.votes[0].min(dispute.votes[2]) > 0);
    all.sort_by_key(|dispute| std::cmp::Reverse(dispute.votes[0].min(dispute.votes[2])));
    all
}

impl fmt::Display for StudyReport {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        writeln!(f, "{} raters, {} samples", self.raters, self.samples)?;
        writeln!(f, "\nwin rates, ties as half, 95 % intervals over samples")?;
        for Wins { method, over, question, rate, answers, ties } in &self.wins {
            let Estimate { value, low, high } = rate;
            writeln!(
                f,
                "  {question:<9} {method} over {over}: {value:.3} ({low:.3}-{high:.3}), {answers} \
                 answers, {ties} ties"
            )?;
        }
        writeln!(f, "\nagreement")?;
        let number = |value: Option<f64>| value.map_or("-".into(), |value| format!("{value:.3}"));
        for one in &self.agreement {
            writeln!(
                f,
                "  {:<9} {} pairs with two raters or more: same answer {}, Fleiss kappa {}, \
                 Krippendorff alpha {} (ties in between: {})",
                one.question,
                one.units,
                number(one.pairwise),
                number(one.fleiss_kappa),
                number(one.krippendorff_alpha),
                number(one.krippendorff_alpha_interval)
            )?;
        }
        if self.disputes.is_empty() {
            return write!(f, "\nno pair is disputed");
        }
        write!(f, "\nraters disagree on")?;
        for Dispute { sample, a, b, question, votes: [for_a, ties, for_b] } in &self.disputes {
            write!(f, "\n  {sample}, {question}: {a} {for_a}, ties {ties}, {b} {for_b}")?;
        }
        Ok(())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn judgement(rater: &str, sample: &str, preference: Preference) -> Judgement {
        Judgement {
            rater: rater.into(),
            sample: sample.into(),
            a: "ours".into(),
            b: "random".into(),
            question: "overall".into(),
            preference,
        }
    }

    #[test]
    fn the_report_of_a_small_study() {
        use Preference::{A, B, Tie};
        let said = [
            ("ann", "tacos", A),
            ("ann", "soup", A),
            ("ann", "stool", Tie),
            ("bob", "tacos", A),
            ("bob", "soup", B),
            ("bob", "stool", Tie),
            ("eve", "tacos", A),
        ];
        let said: Vec<_> = said.iter().map(|(r, s, p)| judgement(r, s, *p)).collect();
        insta::assert_snapshot!(StudyReport::new(&said, 1));
    }

    #[test]
    fn ties_are_half_a_win_and_intervals_are_those_of_samples() {
        let many: Vec<_> = (0..40)
            .map(|i| judgement(&format!("r{i}"), "one", [Preference::A, Preference::B][i % 2]))
            .collect();
        let one = &StudyReport::new(&many, 1).wins[0];
        assert_eq!((one.rate.value, one.rate.low, one.rate.high), (0.5, 0.5, 0.5), "one sample");
        let ties: Vec<_> = ["x", "y"].map(|s| judgement("r", s, Preference::Tie)).into();
        assert_eq!(StudyReport::new(&ties, 1).wins[0].rate.value, 0.5);
        assert_eq!(StudyReport::new(&[], 1).wins, []);
    }
}
