//! Tables of text on the terminal.

use stitch_lab::suite::metrics::Estimate;

/// Prints rows under a header, each column as wide as its widest cell. Columns whose header begins with
/// `>` are aligned to the right.
pub fn print(header: &[&str], rows: &[Vec<String>]) {
    let right: Vec<bool> = header.iter().map(|cell| cell.starts_with('>')).collect();
    let header: Vec<String> = header.iter().map(|c| c.trim_start_matches('>').into()).collect();
    let width = |column: usize| {
        let cells = rows.iter().chain([&header]).map(|row| row[column].chars().count());
        cells.max().unwrap_or(0)
    };
    let widths: Vec<usize> = (0..header.len()).map(width).collect();
    let rule: Vec<String> = widths.iter().map(|width| "─".repeat(*width)).collect();
    for row in [&header, &rule].into_iter().chain(rows) {
        println!("{}", line(row, &widths, &right).trim_end());
    }
}

fn line(row: &[String], widths: &[usize], right: &[bool]) -> String {
    let cell = |(column, text): (usize, &String)| {
        let space = " ".repeat(widths[column].saturating_sub(text.chars().count()));
        if right[column] { format!("{space}{text}") } else { format!("{text}{space}") }
    };
    row.iter().enumerate().map(cell).collect::<Vec<_>>().join("  ")
}

pub fn print_estimates(estimates: &[(&str, &Estimate)]) {
    let row = |(label, e): &(&str, &Estimate)| estimate_row(label, e.value, [e.low, e.high]);
    print_estimate_rows(&estimates.iter().map(row).collect::<Vec<_>>());
}

/// A share in percent with its interval.
pub fn percent(share: &Estimate) -> String {
    let [value, low, high] = [share.value, share.low, share.high].map(|share| 100.0 * share);
    format!("{value:.1} ({low:.1}-{high:.1})")
}

pub fn estimate_row(label: &str, value: f64, [low, high]: [f64; 2]) -> Vec<String> {
    vec![label.into(), format!("{value:.3}"), format!("{low:.3}-{high:.3}")]
}

pub fn print_estimate_rows(rows: &[Vec<String>]) {
    print(&["", ">value", ">95 % interval"], rows);
}

/// The text on one line, cut to so many characters with an ellipsis.
pub fn clipped(text: &str, max_chars: usize) -> String {
    let line = text.split_whitespace().collect::<Vec<_>>().join(" ");
    if line.chars().count() <= max_chars {
        return line;
    }
    let kept: String = line.chars().take(max_chars.saturating_sub(1)).collect();
    format!("{}…", kept.trim_end())
}
