//! The report for people: tables in Markdown.

use super::EvaluationReport;
use super::tables::{Cell, Table, tables};

pub fn markdown(report: &EvaluationReport) -> String {
    let mut text =
        format!("# What was measured\n\nstitch {}, seed {}.\n", report.version, report.seed);
    if !report.notes.is_empty() {
        text += "\nWhat to know first:\n\n";
        report.notes.iter().for_each(|note| text += &format!("- {note}\n"));
    }
    text += "\nIntervals are of 95 %, from bootstrap samples of whole source videos; the best of a \
             column is bold.\n";
    tables(report).iter().for_each(|table| text += &of_table(table));
    text
}

fn of_table(table: &Table) -> String {
    let cell = |cell: &Cell| {
        let text = escape(&cell.text);
        let text = if cell.best { format!("**{text}**") } else { text };
        if cell.small.is_empty() { text } else { format!("{text} ({})", escape(&cell.small)) }
    };
    let line = |cells: Vec<String>| format!("| {} |\n", cells.join(" | "));
    let mut text = format!("\n## {}\n\n", table.title);
    text += &line(table.head.iter().map(|head| escape(head)).collect());
    let right = std::iter::repeat_n("---:", table.head.len().saturating_sub(1));
    text += &line(std::iter::once("---").chain(right).map(str::to_owned).collect());
    table.rows.iter().for_each(|row| text += &line(row.iter().map(cell).collect()));
    if !table.notes.is_empty() {
        text += "\n";
    }
    table.notes.iter().for_each(|note| text += &format!("{note}\n"));
    text
}

fn escape(text: &str) -> String {
    text.replace('|', "\\|")
}
