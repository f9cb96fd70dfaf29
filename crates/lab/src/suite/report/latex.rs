//! The report for papers: tables in LaTeX, for the package booktabs.

use super::EvaluationReport;
use super::tables::{Cell, Table, tables};

pub fn latex(report: &EvaluationReport) -> String {
    let mut text = format!(
        "% stitch {}, seed {}; \\usepackage{{booktabs}}; intervals of 95 % in small type\n",
        report.version, report.seed
    );
    tables(report).iter().for_each(|table| text += &of_table(table));
    text
}

fn of_table(table: &Table) -> String {
    let cell = |cell: &Cell| {
        let text = escape(&cell.text);
        let text = if cell.best { format!("\\textbf{{{text}}}") } else { text };
        match cell.small.is_empty() {
            true => text,
            false => format!("{text} {{\\scriptsize {}}}", escape(&cell.small)),
        }
    };
    let line = |cells: Vec<String>| format!("    {} \\\\\n", cells.join(" & "));
    let columns = format!("l{}", "r".repeat(table.head.len().saturating_sub(1)));
    let mut text = format!("\n\\begin{{table}}\n  \\caption{{{}}}\n", escape(&table.title));
    text += &format!("  \\begin{{tabular}}{{{columns}}}\n    \\toprule\n");
    text += &line(table.head.iter().map(|head| escape(head)).collect());
    text += "    \\midrule\n";
    table.rows.iter().for_each(|row| text += &line(row.iter().map(cell).collect()));
    text += "    \\bottomrule\n  \\end{tabular}\n";
    for note in &table.notes {
        text += &format!("  % {}\n", note.replace('\n', " "));
    }
    text + "\\end{table}\n"
}

fn escape(text: &str) -> String {
    let mut escaped = String::with_capacity(text.len());
    for letter in text.chars() {
        match letter {
            '&' | '%' | '$' | '#' | '_' | '{' | '}' => escaped.extend(['\\', letter]),
            '\\' => escaped += "\\textbackslash{}",
            '~' => escaped += "\\textasciitilde{}",
            '^' => escaped += "\\textasciicircum{}",
            '–' => escaped += "--",
            other => escaped.push(other),
        }
    }
    escaped
}
