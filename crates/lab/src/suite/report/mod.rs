//! What was measured, as files: JSON for programs, Markdown for people, LaTeX for papers, and one page
//! of HTML with its plots inside.

mod cells;
mod markdown;
mod latex;
mod plot;
mod html;

use std::path::{Path, PathBuf};

use serde::{Deserialize, Serialize};
use stitch_engine::files::{FileError, write_whole};

use super::compare::Comparison;
use super::experiments::capture::Capture;
use super::experiments::consistency::Consistency;
use super::experiments::localisation::Localisation;
use super::ranks::{Figures, Intervals};

/// Everything that was measured.
#[derive(Clone, Debug, Default, Serialize, Deserialize)]
pub struct Report {
    /// The program's version.
    pub version: String,
    /// The seed of everything.
    pub seed: u64,
    /// One for each set, domain and kind of procedures.
    pub sections: Vec<Section>,
    /// How well steps are found in videos, where the truth is known.
    pub localisation: Option<Localisation>,
    /// What the evaluator loses when it is trained on less.
    pub ablations: Vec<Ablation>,
    /// What a reader must know, worst first.
    pub notes: Vec<String>,
}

/// One set, or a domain of it.
#[derive(Clone, Debug, Serialize, Deserialize)]
pub struct Section {
    /// The set.
    pub set: String,
    /// The domain, where the set is divided.
    pub domain: Option<String>,
    /// `mixed` procedures or `whole videos`.
    pub of: String,
    /// Every method.
    pub comparison: Comparison,
    /// How many truths are among K candidates.
    pub capture: Vec<Capture>,
    /// How consistent the answers are at transitions.
    pub consistency: Option<Consistency>,
}

/// A table of evaluators that were trained differently.
#[derive(Clone, Debug, Serialize, Deserialize)]
pub struct Ablation {
    /// What is left out.
    pub title: String,
    /// What it was measured on.
    pub on: String,
    /// One evaluator each.
    pub rows: Vec<AblationRow>,
}

/// One evaluator of an ablation.
#[derive(Clone, Debug, Serialize, Deserialize)]
pub struct AblationRow {
    /// How it was trained.
    pub name: String,
    /// Its figures.
    pub figures: Figures,
    /// Their intervals.
    pub intervals: Intervals,
    /// How much they exceed those of the last row, procedure by procedure.
    pub against_last: Option<super::ranks::Difference>,
}

impl Section {
    /// Its name in tables: `made-up, cooking, mixed`.
    pub fn name(&self) -> String {
        let domain = self.domain.iter().map(String::as_str);
        let parts = std::iter::once(self.set.as_str()).chain(domain).chain([self.of.as_str()]);
        parts.collect::<Vec<_>>().join(", ")
    }
}

impl Report {
    /// Writes report.json, report.md, tables.tex and index.html into a folder, which is made if need
    /// be; their paths.
    pub fn write(&self, folder: &Path) -> Result<Vec<PathBuf>, FileError> {
        std::fs::create_dir_all(folder).map_err(FileError::at(folder))?;
        let json = serde_json::to_string_pretty(self).unwrap_or_default();
        let files = [
            ("report.json", json),
            ("report.md", markdown::markdown(self)),
            ("tables.tex", latex::latex(self)),
            ("index.html", html::html(self)),
        ];
        let mut written = Vec::new();
        for (name, text) in files {
            let path = folder.join(name);
            write_whole(&path, text.as_bytes())?;
            written.push(path);
        }
        Ok(written)
    }
}

#[cfg(test)]
mod tests {
    use std::collections::BTreeMap;

    use super::*;
    use crate::suite::compare::Method;
    use crate::suite::distractors::Kind;
    use crate::suite::metrics::Estimate;
    use crate::suite::ranks::{Bounds, Clusters, Rank};

    fn method(name: &str, better: u32) -> Method {
        let ranks: Vec<Rank> =
            (0..40).map(|at| Rank { better: better + at % 7, ties: 0 }).collect();
        let figures = Figures::of(&ranks);
        Method {
            name: name.into(),
            figures,
            intervals: Clusters::of(0..40).resample(&ranks, 100, 1).intervals(),
            ties: Bounds::of(&ranks),
            against_average_similarity: None,
            against_evaluator: None,
            alone: Kind::ALL.into_iter().map(|kind| (kind, figures)).collect(),
            seconds: 1.0,
            outcomes: Vec::new(),
        }
    }

    fn section(domain: &str) -> Section {
        let comparison = Comparison {
            set: "made-up".into(),
            encoder: "mini".into(),
            procedures: 40,
            sources: 30,
            clips: 300,
            trained_on: "the training part of the set".into(),
            methods: vec![method("evaluator", 0), method("average-similarity", 30)],
            absent: BTreeMap::from([("covr".to_owned(), "too few to learn from".to_owned())]),
            distractors: Kind::ALL.into_iter().map(|kind| (kind, 40 * kind.quota())).collect(),
            short: BTreeMap::from([(Kind::Full, 12)]),
            fewer_than_499: 0,
            questions: Vec::new(),
        };
        let estimate = |value: f64| Estimate { value, low: value - 0.05, high: value + 0.05 };
        let curve = |way: &str, end: f64| {
            (way.to_owned(), [0.2, 0.5, 1.0].iter().map(|share| estimate(share * end)).collect())
        };
        let capture = Capture {
            of: "mixed".into(),
            procedures: 40,
            candidates: vec![1, 10, 100],
            curves: BTreeMap::from([curve("greedy cover", 0.9), curve("exact K-best", 1.0)]),
        };
        Section {
            set: "made-up".into(),
            domain: Some(domain.into()),
            of: "mixed".into(),
            comparison,
            capture: vec![capture],
            consistency: None,
        }
    }

    fn report() -> Report {
        Report {
            version: "1".into(),
            seed: 1,
            sections: vec![section("cooking"), section("gardening & <more>")],
            notes: vec!["this is all made up".into()],
            ..Report::default()
        }
    }

    #[test]
    fn tables_read_well_in_markdown_and_latex() {
        insta::assert_snapshot!("markdown", markdown::markdown(&report()));
        insta::assert_snapshot!("latex", latex::latex(&report()));
    }

    #[test]
    fn the_page_is_whole_and_escapes_what_it_is_told() {
        let page = html::html(&report());
        assert!(page.starts_with("<!doctype html>") && page.trim_end().ends_with("</html>"));
        assert!(page.contains("gardening &amp; &lt;more&gt;") && !page.contains("<more>"));
        assert!(page.contains("<svg") && !page.contains("http://") && !page.contains("<script"));
    }

    #[test]
    fn what_is_written_can_be_read_and_is_the_same() {
        let folder = tempfile::tempdir().unwrap();
        let files = report().write(&folder.path().join("new")).unwrap();
        assert_eq!(files.len(), 4);
        let text = std::fs::read_to_string(&files[0]).unwrap();
        let again: Report = serde_json::from_str(&text).unwrap();
        // Numbers may lose their last digit on the way; what a reader sees does not change.
        assert_eq!(markdown::markdown(&again), markdown::markdown(&report()));
    }
}
