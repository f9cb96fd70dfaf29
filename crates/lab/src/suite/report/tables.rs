//! The tables of a report: values with intervals, and which of a column is best.

use std::collections::BTreeMap;

use super::{Ablation, AblationRow, EvaluationReport, Section};
use crate::rows::first_of_each;
use crate::suite::compare::Method;
use crate::suite::distractors::Kind;
use crate::suite::experiments::capture::Capture;
use crate::suite::experiments::localisation::Quality;
use crate::suite::metrics::Estimate;
use crate::suite::ranks::RankMetrics;

pub struct Table {
    pub title: String,
    /// The heads of its columns; the first is of the rows' names.
    pub head: Vec<String>,
    pub rows: Vec<Vec<Cell>>,
    pub notes: Vec<String>,
}

#[derive(Clone, Debug, Default)]
pub struct Cell {
    pub text: String,
    /// Set smaller beside the text: the interval.
    pub small: String,
    pub best: bool,
    /// By which the best is found.
    value: Option<f64>,
}

/// Which value of a column is marked as the best.
#[derive(Clone, Copy, PartialEq, Eq)]
enum Best {
    Least,
    Most,
    None,
}

impl Table {
    fn new<'a>(title: String, head: &str, names: impl Iterator<Item = &'a str>) -> Self {
        let name = |name: &str| vec![Cell { text: name.into(), ..Cell::default() }];
        let rows = names.map(name).collect();
        Self { title, head: vec![head.into()], rows, notes: Vec::new() }
    }

    /// Adds a column with a cell for each row; a dash where there is none.
    fn column(
        &mut self,
        head: impl Into<String>,
        best: Best,
        cells: impl Iterator<Item = Option<Cell>>,
    ) {
        self.head.push(head.into());
        let dash = || Cell { text: "–".into(), ..Cell::default() };
        let mut cells: Vec<Cell> = cells.map(|cell| cell.unwrap_or_else(dash)).collect();
        let values = cells.iter().filter_map(|cell| cell.value);
        let value = match best {
            Best::Least => values.reduce(f64::min),
            Best::Most => values.reduce(f64::max),
            Best::None => None,
        };
        cells.iter_mut().for_each(|cell| cell.best = value.is_some() && cell.value == value);
        self.rows.iter_mut().zip(cells).for_each(|(row, cell)| row.push(cell));
    }
}

fn cell(value: f64, [low, high]: [f64; 2], digits: usize) -> Cell {
    let (text, small) = (format!("{value:.digits$}"), format!("{low:.digits$}–{high:.digits$}"));
    Cell { text, small, best: false, value: Some(value) }
}

fn estimate(estimate: &Estimate) -> Option<Cell> {
    Some(cell(estimate.value, estimate.interval(), 2))
}

/// The metrics in the order of [`RankMetrics::array`]: head, which value is best, and digits.
const METRICS: [(&str, Best, usize); 6] = [
    ("MedR", Best::Least, 1),
    ("R@1", Best::Most, 2),
    ("R@5", Best::Most, 2),
    ("R@50", Best::Most, 2),
    ("MRR", Best::Most, 2),
    ("mean rank", Best::Least, 1),
];

// Their places there.
const MEDR: usize = 0;
const R1: usize = 1;
const R50: usize = 3;
const MRR: usize = 4;

type MetricsAndIntervals<'a> = (&'a RankMetrics, &'a RankMetrics<[f64; 2]>);

/// A column of the n-th metric.
fn metric_column<'a>(
    table: &mut Table,
    prefix: &str,
    metric: usize,
    rows: impl Iterator<Item = Option<MetricsAndIntervals<'a>>>,
) {
    let (head, best, digits) = METRICS[metric];
    let cell = |(metrics, intervals): MetricsAndIntervals| {
        cell(metrics.array()[metric], intervals.array()[metric], digits)
    };
    table.column(format!("{prefix}{head}"), best, rows.map(|row| row.map(cell)));
}

pub fn tables(report: &EvaluationReport) -> Vec<Table> {
    let mut tables = Vec::new();
    if report.sections.len() > 1 {
        tables.push(all_sections(report));
    }
    for section in &report.sections {
        tables.push(methods(section));
        tables.push(by_kind(section));
    }
    for section in &report.sections {
        tables.extend(section.capture.iter().map(|capture| captured(section, capture)));
    }
    tables.extend(consistency(report));
    tables.extend(localisation(report));
    tables.extend(report.ablations.iter().map(ablation));
    tables
}

fn method_row(method: &Method) -> MetricsAndIntervals<'_> {
    (&method.figures, &method.intervals)
}

fn all_sections(report: &EvaluationReport) -> Table {
    let methods = report.sections.iter().flat_map(|section| &section.comparison.methods);
    let names = first_of_each(methods.map(|method| method.name.as_str()));
    let title = "Every method on every set: median rank of 500 (less is better) and R@50";
    let mut table = Table::new(title.into(), "method", names.iter().copied());
    for section in &report.sections {
        let find = |name: &&str| section.comparison.methods.iter().find(|m| m.name == *name);
        let rows = || names.iter().map(|name| find(name).map(method_row));
        metric_column(&mut table, &format!("{}: ", section.name()), MEDR, rows());
        metric_column(&mut table, "", R50, rows());
    }
    table
}

fn methods(section: &Section) -> Table {
    let found = &section.comparison;
    let title = format!(
        "{}: {} procedures of {} videos, {} clips, encoder {}",
        section.name(),
        found.procedures,
        found.sources,
        found.clips,
        found.encoder
    );
    let names = found.methods.iter().map(|method| method.name.as_str());
    let mut table = Table::new(title, "method", names);
    for metric in 0..METRICS.len() {
        let rows = found.methods.iter().map(|method| Some(method_row(method)));
        metric_column(&mut table, "", metric, rows);
    }
    table.notes = notes(section);
    table
}

fn notes(section: &Section) -> Vec<String> {
    let found = &section.comparison;
    let list = |counts: &BTreeMap<Kind, usize>| {
        let one = |(kind, count): (&Kind, &usize)| format!("{count} {}", kind.name());
        counts.iter().map(one).collect::<Vec<_>>().join(", ")
    };
    let mut notes = vec![
        format!("Methods that learn were trained on {}.", found.trained_on),
        format!("Distractors: {}.", list(&found.counts.distractors)),
    ];
    if !found.counts.short.is_empty() {
        let short = list(&found.counts.short);
        notes.push(format!("Too few could be made, and others filled them: {short}."));
    }
    if found.counts.fewer_than_499 > 0 {
        notes.push(format!("{} procedures have fewer than 499.", found.counts.fewer_than_499));
    }
    notes.extend(found.absent.iter().map(|(name, why)| format!("Not measured: {name}, {why}.")));
    notes
}

/// Median ranks against each kind of distractors alone.
fn by_kind(section: &Section) -> Table {
    let methods = &section.comparison.methods;
    let title = format!("{}: median rank against one kind of distractors (99 + 1)", section.name());
    let mut table = Table::new(title, "method", methods.iter().map(|m| m.name.as_str()));
    for kind in Kind::ALL {
        let cell = |metrics: &RankMetrics| Cell {
            text: format!("{:.1}", metrics.medr),
            small: format!("R@5 {:.2}", metrics.r5),
            best: false,
            value: Some(metrics.medr),
        };
        let cells = methods.iter().map(|method| method.alone.get(&kind).map(cell));
        table.column(kind.name(), Best::Least, cells);
    }
    table
}

fn captured(section: &Section, capture: &Capture) -> Table {
    let title = format!(
        "{}: share of truths among K candidates, {} of {}",
        section.name(),
        capture.procedures,
        capture.of
    );
    let mut table = Table::new(title, "candidates", capture.curves.keys().map(String::as_str));
    for (at, count) in capture.candidates.iter().enumerate() {
        let cells = capture.curves.values().map(|curve| estimate(&curve[at]));
        table.column(format!("K = {count}"), Best::Most, cells);
    }
    table
}

fn consistency(report: &EvaluationReport) -> Option<Table> {
    let known: Vec<_> = report
        .sections
        .iter()
        .filter_map(|section| Some((section.name(), section.consistency.as_ref()?)))
        .collect();
    let names = known.iter().flat_map(|(_, c)| c.methods.keys().map(String::as_str));
    let names = first_of_each(names);
    let title =
        "Subject consistency at transitions: max(0, cos) of a clip's end and the next's begin";
    let rows = std::iter::once("the truth").chain(names.iter().copied());
    let mut table = Table::new(title.into(), "first by", rows);
    for (name, found) in &known {
        let cells = names.iter().map(|name| found.methods.get(*name).and_then(estimate));
        let cells = std::iter::once(estimate(&found.truth)).chain(cells);
        table.column(format!("{name} (by {})", found.by), Best::None, cells);
    }
    (!known.is_empty()).then_some(table)
}

fn localisation(report: &EvaluationReport) -> Option<Table> {
    let found = report.localisation.as_ref()?;
    let title =
        format!("Finding {} steps in {} videos of the made-up library", found.steps, found.videos);
    let mut table = Table::new(title, "way", found.ways.keys().map(String::as_str));
    let mut add = |head: &str, of: fn(&Quality) -> &Estimate| {
        table.column(head, Best::Most, found.ways.values().map(|quality| estimate(of(quality))));
    };
    add("frame accuracy", |quality| &quality.frame_accuracy);
    add("IoU", |quality| &quality.iou);
    add("recall", |quality| &quality.recall);
    Some(table)
}

fn ablation(ablation: &Ablation) -> Table {
    let title = format!("{}, on {}", ablation.title, ablation.on);
    let names = ablation.rows.iter().map(|row| row.name.as_str());
    let mut table = Table::new(title, "trained with", names);
    for metric in [MEDR, R1, R50, MRR] {
        let rows = ablation.rows.iter().map(|row| Some((&row.figures, &row.intervals)));
        metric_column(&mut table, "", metric, rows);
    }
    let difference = |row: &AblationRow| {
        let Estimate { value, low, high } = row.against_last.as_ref()?.mrr;
        let (text, small) = (format!("{value:+.2}"), format!("{low:+.2} to {high:+.2}"));
        Some(Cell { text, small, ..Cell::default() })
    };
    table.column("MRR beside the last row's", Best::None, ablation.rows.iter().map(difference));
    table
}
