//! Numbers as tables show them, and which of a column is best.

use std::collections::BTreeMap;

use super::Report;
use crate::suite::compare::Method;
use crate::suite::distractors::Kind;
use crate::suite::metrics::Estimate;
use crate::suite::ranks::Difference;

/// A table of words and numbers.
pub struct Table {
    /// What it shows.
    pub title: String,
    /// The heads of its columns; the first is of the rows' names.
    pub head: Vec<String>,
    /// Its rows.
    pub rows: Vec<Vec<Cell>>,
    /// What must be said under it.
    pub under: Vec<String>,
}

/// A cell: a figure, its interval in small, and whether it is the best of its column.
#[derive(Clone, Debug, Default)]
pub struct Cell {
    /// What it says.
    pub text: String,
    /// What is said smaller beside it.
    pub small: String,
    /// Whether it is the best of its column.
    pub best: bool,
}

impl Cell {
    fn word(text: &str) -> Self {
        Self { text: text.into(), ..Self::default() }
    }
}

fn rank(value: f64, [low, high]: [f64; 2]) -> Cell {
    Cell { text: format!("{value:.1}"), small: format!("{low:.1}–{high:.1}"), best: false }
}

fn share(value: f64, [low, high]: [f64; 2]) -> Cell {
    Cell { text: format!("{value:.2}"), small: format!("{low:.2}–{high:.2}"), best: false }
}

fn estimate(estimate: &Estimate) -> Cell {
    share(estimate.value, [estimate.low, estimate.high])
}

/// Marks the best cells of a column, by their values.
fn mark(rows: &mut [Vec<Cell>], column: usize, values: &[Option<f64>], least: bool) {
    let known = values.iter().flatten().copied();
    let best = if least { known.fold(f64::MAX, f64::min) } else { known.fold(f64::MIN, f64::max) };
    for (row, value) in rows.iter_mut().zip(values) {
        row[column].best = *value == Some(best);
    }
}

/// Every table of a report, in order.
pub fn tables(report: &Report) -> Vec<Table> {
    let mut tables = Vec::new();
    if report.sections.len() > 1 {
        tables.push(main_table(report));
    }
    for section in &report.sections {
        tables.push(of_section(section));
        tables.push(splits(section));
    }
    tables.extend(report.sections.iter().flat_map(captures));
    tables.extend(consistencies(report));
    tables.extend(localisations(report));
    tables.extend(report.ablations.iter().map(ablation));
    tables
}

/// Methods by sections: median rank and R@50.
fn main_table(report: &Report) -> Table {
    let mut names: Vec<&str> = Vec::new();
    let methods = report.sections.iter().flat_map(|section| &section.comparison.methods);
    for method in methods.filter(|method| !method.name.is_empty()) {
        if !names.contains(&method.name.as_str()) {
            names.push(&method.name);
        }
    }
    let mut rows: Vec<Vec<Cell>> = names.iter().map(|name| vec![Cell::word(name)]).collect();
    let mut head = vec!["method".to_owned()];
    for section in &report.sections {
        let find = |name: &str| section.comparison.methods.iter().find(|m| m.name == name);
        let found: Vec<Option<&Method>> = names.iter().map(|name| find(name)).collect();
        head.extend([format!("{}: MedR", section.name()), "R@50".to_owned()]);
        for (row, method) in rows.iter_mut().zip(&found) {
            row.push(method.map_or(Cell::word("–"), |m| rank(m.figures.medr, m.intervals.medr)));
            row.push(method.map_or(Cell::word("–"), |m| share(m.figures.r50, m.intervals.r50)));
        }
        let value = |of: fn(&Method) -> f64| -> Vec<Option<f64>> {
            found.iter().map(|method| method.map(of)).collect()
        };
        mark(&mut rows, head.len() - 2, &value(|m| m.figures.medr), true);
        mark(&mut rows, head.len() - 1, &value(|m| m.figures.r50), false);
    }
    let title = "Every method on every set: median rank of 500 (less is better) and R@50".into();
    Table { title, head, rows, under: Vec::new() }
}

fn of_section(section: &super::Section) -> Table {
    let found = &section.comparison;
    let head = ["method", "MedR", "R@1", "R@5", "R@50", "MRR", "mean rank"].map(str::to_owned);
    let row = |m: &Method| {
        let (f, i) = (&m.figures, &m.intervals);
        vec![
            Cell::word(&m.name),
            rank(f.medr, i.medr),
            share(f.r1, i.r1),
            share(f.r5, i.r5),
            share(f.r50, i.r50),
            share(f.mrr, i.mrr),
            rank(f.mean_rank, i.mean_rank),
        ]
    };
    let mut rows: Vec<Vec<Cell>> = found.methods.iter().map(row).collect();
    for (column, least) in [(0, true), (1, false), (2, false), (3, false), (4, false), (5, true)] {
        let values: Vec<_> =
            found.methods.iter().map(|m| Some(m.figures.array()[column])).collect();
        mark(&mut rows, column + 1, &values, least);
    }
    let title = format!(
        "{}: {} procedures of {} videos, {} clips, encoder {}",
        section.name(),
        found.procedures,
        found.sources,
        found.clips,
        found.encoder
    );
    Table { title, head: head.to_vec(), rows, under: under(section) }
}

fn under(section: &super::Section) -> Vec<String> {
    let found = &section.comparison;
    let list = |counts: &BTreeMap<Kind, usize>| {
        let one = |(kind, count): (&Kind, &usize)| format!("{count} {}", kind.name());
        counts.iter().map(one).collect::<Vec<_>>().join(", ")
    };
    let mut under = vec![
        format!("Methods that learn were trained on {}.", found.trained_on),
        format!("Distractors: {}.", list(&found.distractors)),
    ];
    if !found.short.is_empty() {
        under.push(format!(
            "Too few could be made, and others filled them: {}.",
            list(&found.short)
        ));
    }
    if found.fewer_than_499 > 0 {
        under.push(format!("{} procedures have fewer than 499.", found.fewer_than_499));
    }
    under.extend(found.absent.iter().map(|(name, why)| format!("Not measured: {name}, {why}.")));
    under
}

/// Median ranks against each kind of distractors alone.
fn splits(section: &super::Section) -> Table {
    let methods = &section.comparison.methods;
    let mut head = vec!["method".to_owned()];
    let mut rows: Vec<Vec<Cell>> = methods.iter().map(|m| vec![Cell::word(&m.name)]).collect();
    for kind in Kind::ALL {
        head.push(kind.name().to_owned());
        let values: Vec<Option<f64>> =
            methods.iter().map(|m| m.alone.get(&kind).map(|figures| figures.medr)).collect();
        for (row, method) in rows.iter_mut().zip(methods) {
            row.push(method.alone.get(&kind).map_or(Cell::word("–"), |figures| Cell {
                text: format!("{:.1}", figures.medr),
                small: format!("R@5 {:.2}", figures.r5),
                best: false,
            }));
        }
        mark(&mut rows, head.len() - 1, &values, true);
    }
    let title = format!("{}: median rank against one kind of distractors (99 + 1)", section.name());
    Table { title, head, rows, under: Vec::new() }
}

fn captures(section: &super::Section) -> Vec<Table> {
    let table = |capture: &crate::suite::experiments::capture::Capture| {
        let points = capture.candidates.iter().map(|count| format!("K = {count}"));
        let head = std::iter::once("candidates".to_owned()).chain(points).collect();
        let row = |(way, curve): (&String, &Vec<Estimate>)| {
            std::iter::once(Cell::word(way)).chain(curve.iter().map(estimate)).collect()
        };
        let mut rows: Vec<Vec<Cell>> = capture.curves.iter().map(row).collect();
        for at in 0..capture.candidates.len() {
            let values: Vec<_> = capture.curves.values().map(|c| Some(c[at].value)).collect();
            mark(&mut rows, at + 1, &values, false);
        }
        let title = format!(
            "{}: share of truths among K candidates, {} of {}",
            section.name(),
            capture.procedures,
            capture.of
        );
        Table { title, head, rows, under: Vec::new() }
    };
    section.capture.iter().map(table).collect()
}

fn consistencies(report: &Report) -> Option<Table> {
    let known: Vec<_> = report
        .sections
        .iter()
        .filter_map(|section| Some((section.name(), section.consistency.as_ref()?)))
        .collect();
    let mut names: Vec<&str> = Vec::new();
    for name in known.iter().flat_map(|(_, c)| c.methods.keys()) {
        if !names.contains(&name.as_str()) {
            names.push(name);
        }
    }
    if known.is_empty() {
        return None;
    }
    let head = std::iter::once("first by".to_owned());
    let head = head.chain(known.iter().map(|(name, c)| format!("{name} (by {})", c.by))).collect();
    let truth = std::iter::once(Cell::word("the truth"));
    let truth: Vec<Cell> = truth.chain(known.iter().map(|(_, c)| estimate(&c.truth))).collect();
    let row = |name: &&str| {
        let cells =
            known.iter().map(|(_, c)| c.methods.get(*name).map_or(Cell::word("–"), estimate));
        std::iter::once(Cell::word(name)).chain(cells).collect()
    };
    let rows = std::iter::once(truth).chain(names.iter().map(row)).collect();
    let title =
        "Subject consistency at transitions: max(0, cos) of a clip's end and the next's begin";
    Some(Table { title: title.into(), head, rows, under: Vec::new() })
}

fn localisations(report: &Report) -> Option<Table> {
    let found = report.localisation.as_ref()?;
    let head = ["way", "frame accuracy", "IoU", "recall"].map(str::to_owned).to_vec();
    let row = |(name, q): (&String, &crate::suite::experiments::localisation::Quality)| {
        let cells = [estimate(&q.frame_accuracy), estimate(&q.iou), estimate(&q.recall)];
        std::iter::once(Cell::word(name)).chain(cells).collect()
    };
    let mut rows: Vec<Vec<Cell>> = found.ways.iter().map(row).collect();
    let columns: [fn(&crate::suite::experiments::localisation::Quality) -> f64; 3] =
        [|q| q.frame_accuracy.value, |q| q.iou.value, |q| q.recall.value];
    for (at, of) in columns.into_iter().enumerate() {
        let values: Vec<_> = found.ways.values().map(|q| Some(of(q))).collect();
        mark(&mut rows, at + 1, &values, false);
    }
    let title =
        format!("Finding {} steps in {} videos of the made-up library", found.steps, found.videos);
    Some(Table { title, head, rows, under: Vec::new() })
}

fn ablation(ablation: &super::Ablation) -> Table {
    let head = ["trained with", "MedR", "R@1", "R@50", "MRR", "MRR beside the last row's"];
    let head = head.map(str::to_owned).to_vec();
    let beside = |difference: &Difference| {
        let Estimate { value, low, high } = difference.mrr;
        let small = format!("{low:+.2} to {high:+.2}");
        Cell { text: format!("{value:+.2}"), small, best: false }
    };
    let row = |r: &super::AblationRow| {
        let (f, i) = (&r.figures, &r.intervals);
        vec![
            Cell::word(&r.name),
            rank(f.medr, i.medr),
            share(f.r1, i.r1),
            share(f.r50, i.r50),
            share(f.mrr, i.mrr),
            r.against_last.as_ref().map_or_else(|| Cell::word("–"), beside),
        ]
    };
    let mut rows: Vec<Vec<Cell>> = ablation.rows.iter().map(row).collect();
    /// A figure, and whether less is better.
    type Column = (fn(&super::AblationRow) -> f64, bool);
    let columns: [Column; 4] = [
        (|r| r.figures.medr, true),
        (|r| r.figures.r1, false),
        (|r| r.figures.r50, false),
        (|r| r.figures.mrr, false),
    ];
    for (at, (of, least)) in columns.into_iter().enumerate() {
        let values: Vec<_> = ablation.rows.iter().map(|r| Some(of(r))).collect();
        mark(&mut rows, at + 1, &values, least);
    }
    let title = format!("{}, on {}", ablation.title, ablation.on);
    Table { title, head, rows, under: Vec::new() }
}
