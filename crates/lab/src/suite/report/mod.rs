//! The report of all experiments as files: JSON, Markdown, LaTeX, and one HTML page with plots.

mod tables;
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
use super::metrics::Estimate;
use super::ranks::RankMetrics;

#[derive(Clone, Debug, Default, Serialize, Deserialize)]
pub struct EvaluationReport {
    pub version: String,
    pub seed: u64,
    /// One for each set, domain and kind of procedures.
    pub sections: Vec<Section>,
    pub localisation: Option<Localisation>,
    pub ablations: Vec<Ablation>,
    /// Limitations of the results, the worst first.
    pub notes: Vec<String>,
}

/// One set, or a domain of it.
#[derive(Clone, Debug, Serialize, Deserialize)]
pub struct Section {
    pub set: String,
    /// Where the set is divided by domain.
    pub domain: Option<String>,
    /// `mixed` procedures or `whole videos`.
    pub of: String,
    pub comparison: Comparison,
    pub capture: Vec<Capture>,
    pub consistency: Option<Consistency>,
}

/// Evaluators that were trained differently.
#[derive(Clone, Debug, Serialize, Deserialize)]
pub struct Ablation {
    /// What varies.
    pub title: String,
    pub on: String,
    pub rows: Vec<AblationRow>,
}

#[derive(Clone, Debug, Serialize, Deserialize)]
pub struct AblationRow {
    pub name: String,
    pub figures: RankMetrics,
    /// 95 % intervals.
    pub intervals: RankMetrics<[f64; 2]>,
    /// How much its metrics exceed those of the last row, procedure by procedure.
    pub against_last: Option<RankMetrics<Estimate>>,
}

impl Section {
    /// Its name in tables: `made-up, cooking, mixed`.
    pub fn name(&self) -> String {
        let domain = self.domain.iter().map(String::as_str);
        let parts = std::iter::once(self.set.as_str()).chain(domain).chain([self.of.as_str()]);
        parts.collect::<Vec<_>>().join(", ")
    }
}

impl EvaluationReport {
    /// Writes report.json, report.md, tables.tex and index.html into a folder, which is created if need
    /// be; returns their paths.
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
    use crate::suite::distractors::{Kind, KindCounts};
    use crate::suite::ranks::{Clusters, Rank, TieBounds};

    fn method(name: &str, better: u32) -> Method {
        let ranks: Vec<Rank> =
            (0..40).map(|at| Rank { better: better + at % 7, ties: 0 }).collect();
        let figures = RankMetrics::of(&ranks);
        Method {
            name: name.into(),
            figures,
            intervals: Clusters::of(0..40).resample(&ranks, 100, 1).intervals(),
            ties: TieBounds::of(&ranks),
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
            methods: vec![method("evaluator", 0), method("similarity", 30)],
            absent: BTreeMap::from([("covr".to_owned(), "too few to learn from".to_owned())]),
            counts: KindCounts {
                distractors: Kind::ALL.into_iter().map(|kind| (kind, 40 * kind.quota())).collect(),
                short: BTreeMap::from([(Kind::Full, 12)]),
                fewer_than_499: 0,
            },
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

    fn report() -> EvaluationReport {
        EvaluationReport {
            version: "1".into(),
            seed: 1,
            sections: vec![section("cooking"), section("gardening & <more>")],
            notes: vec!["this is all made up".into()],
            ..EvaluationReport::default()
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
        let again: EvaluationReport = serde_json::from_str(&text).unwrap();
        // Numbers may lose their last digit on the way; what a reader sees does not change.
        assert_eq!(markdown::markdown(&again), markdown::markdown(&report()));
    }
}
