//! The report as one self-contained HTML page: tables and plots, light and dark, wide and narrow.

use super::EvaluationReport;
use super::plot;
use super::tables::{Cell, Table, tables};
use crate::svg::escape;

pub fn html(report: &EvaluationReport) -> String {
    let mut body = format!(
        "<header><h1>What was measured</h1><p>stitch {}, seed {}. Intervals are of 95 %, from \
         bootstrap samples of whole source videos; the best of a column is bold.</p></header>",
        escape(&report.version),
        report.seed
    );
    if !report.notes.is_empty() {
        let notes: String =
            report.notes.iter().map(|note| format!("<li>{}</li>", escape(note))).collect();
        body +=
            &format!("<section class=notes><h2>What to know first</h2><ul>{notes}</ul></section>");
    }
    body += &plots(report);
    tables(report).iter().for_each(|table| body += &of_table(table));
    format!(
        "<!doctype html>\n<html lang=en><head><meta charset=utf-8>\
         <meta name=viewport content=\"width=device-width, initial-scale=1\">\
         <title>What was measured</title><style>{STYLE}</style></head><body>{body}</body></html>\n"
    )
}

fn plots(report: &EvaluationReport) -> String {
    let mut plots = String::new();
    for section in &report.sections {
        plots += &plot::methods(&section.comparison.methods, &section.name());
    }
    for section in &report.sections {
        let own = section.capture.iter();
        own.for_each(|capture| plots += &plot::capture(&section.name(), capture));
    }
    format!("<section class=plots>{plots}</section>")
}

fn of_table(table: &Table) -> String {
    let cell = |(at, cell): (usize, &Cell)| {
        let text = escape(&cell.text);
        let text = if cell.best { format!("<b>{text}</b>") } else { text };
        let small = match cell.small.is_empty() {
            true => String::new(),
            false => format!("<small>{}</small>", escape(&cell.small)),
        };
        let tag = if at == 0 { "th" } else { "td" };
        format!("<{tag}>{text}{small}</{tag}>")
    };
    let row = |row: &Vec<Cell>| {
        format!("<tr>{}</tr>", row.iter().enumerate().map(cell).collect::<String>())
    };
    let head: String = table.head.iter().map(|head| format!("<th>{}</th>", escape(head))).collect();
    let notes: String = table.notes.iter().map(|note| format!("<p>{}</p>", escape(note))).collect();
    format!(
        "<section><h2>{}</h2><div class=scroll><table><thead><tr>{head}</tr></thead><tbody>{}</tbody>\
         </table></div>{notes}</section>",
        escape(&table.title),
        table.rows.iter().map(row).collect::<String>()
    )
}

const STYLE: &str = include_str!("style.css");
