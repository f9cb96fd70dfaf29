//! The report for people: tables in Markdown.

use super::Report;
use super::cells::{Cell, Table, tables};

/// The whole report.
pub fn markdown(report: &Report) -> String {
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
    if !table.under.is_empty() {
        text += "\n";
    }
    table.under.iter().for_each(|under| text += &format!("{under}\n"));
    text
}

fn escape(text: &str) -> String {
    text.replace('|', "\\|")
}
