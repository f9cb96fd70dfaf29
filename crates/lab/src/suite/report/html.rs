//! The report as one page that needs nothing else: tables and plots, light and dark, wide and narrow.

use super::Report;
use super::cells::{Cell, Table, tables};
use super::plot::{self, escape};

/// The whole page.
pub fn html(report: &Report) -> String {
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

fn plots(report: &Report) -> String {
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
    let under: String = table.under.iter().map(|u| format!("<p>{}</p>", escape(u))).collect();
    format!(
        "<section><h2>{}</h2><div class=scroll><table><thead><tr>{head}</tr></thead><tbody>{}</tbody>\
         </table></div>{under}</section>",
        escape(&table.title),
        table.rows.iter().map(row).collect::<String>()
    )
}

const STYLE: &str = "\
:root{color-scheme:light dark;--ink:#1d2025;--soft:#5b626d;--line:#dfe3e8;--back:#fff;--tint:#f5f7f9;\
--c0:#0b6bcb;--c1:#c2410c;--c2:#0f766e;--c3:#7e22ce;--c4:#a16207;--c5:#64748b}\
@media(prefers-color-scheme:dark){:root{--ink:#e8eaed;--soft:#a2a9b4;--line:#343a43;--back:#15181c;\
--tint:#1c2026;--c0:#6cb2f7;--c1:#f59062;--c2:#4fd1c0;--c3:#c99bf5;--c4:#e0b94f;--c5:#94a3b8}}\
*{box-sizing:border-box}\
body{margin:0 auto;max-width:1200px;padding:2rem 1.25rem 4rem;background:var(--back);color:var(--ink);\
font:16px/1.5 system-ui,sans-serif}\
h1{font-size:1.9rem;line-height:1.2;margin:0 0 .4rem}\
h2{font-size:1.05rem;margin:0 0 .6rem;font-weight:650}\
header p,section>p{color:var(--soft);max-width:75ch;margin:.3rem 0;font-size:.92rem}\
section{margin-top:2.4rem}\
.notes{background:var(--tint);border-left:4px solid var(--c1);padding:1rem 1.2rem;border-radius:4px}\
.notes ul{margin:0;padding-left:1.2rem;max-width:85ch}\
.plots{display:grid;grid-template-columns:repeat(auto-fit,minmax(min(100%,460px),1fr));gap:2rem}\
figure{margin:0}figcaption{font-weight:650;margin-bottom:.4rem}\
svg{width:100%;height:auto;display:block;overflow:visible}\
svg text{font:13px system-ui,sans-serif;fill:var(--soft)}\
svg .name{fill:var(--ink)}svg .axis{font-size:12px}\
.grid{stroke:var(--line);stroke-width:1}\
.curve{fill:none;stroke-width:2.5;stroke-linejoin:round;stroke-linecap:round}\
svg .label{font-weight:600}\
.curve.line0{stroke:var(--c0)}.dot.line0,svg .label.line0{fill:var(--c0)}\
.curve.line1{stroke:var(--c1)}.dot.line1,svg .label.line1{fill:var(--c1)}\
.curve.line2{stroke:var(--c2)}.dot.line2,svg .label.line2{fill:var(--c2)}\
.curve.line3{stroke:var(--c3)}.dot.line3,svg .label.line3{fill:var(--c3)}\
.curve.line4{stroke:var(--c4)}.dot.line4,svg .label.line4{fill:var(--c4)}\
.curve.line5{stroke:var(--c5)}.dot.line5,svg .label.line5{fill:var(--c5)}\
.scroll{overflow-x:auto;border:1px solid var(--line);border-radius:6px}\
table{border-collapse:collapse;width:100%;font-size:.92rem;font-variant-numeric:tabular-nums}\
th,td{padding:.45rem .75rem;text-align:right;white-space:nowrap;border-top:1px solid var(--line)}\
thead th{border-top:0;background:var(--tint);font-weight:600;vertical-align:bottom;white-space:normal;\
min-width:5.2rem}\
th:first-child{text-align:left;font-weight:500;position:sticky;left:0;background:var(--back)}\
thead th:first-child{background:var(--tint)}\
td small{display:block;color:var(--soft);font-size:.78rem}\
@media(max-width:600px){body{padding:1.2rem .9rem 3rem}h1{font-size:1.5rem}\
svg text{font-size:17px}svg .axis{font-size:16px}th,td{padding:.4rem .55rem}}";
