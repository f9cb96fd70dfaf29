//! Small tables of text, aligned by what a terminal shows.

/// Prints rows under a header, each column as wide as its widest cell; `right` columns are aligned
/// to the right.
pub fn print(header: &[&str], right: &[bool], rows: &[Vec<String>]) {
    let width = |column: usize| {
        let cells = rows.iter().map(|row| row[column].chars().count());
        cells.chain([header[column].chars().count()]).max().unwrap_or(0)
    };
    let widths: Vec<usize> = (0..header.len()).map(width).collect();
    let header: Vec<String> = header.iter().map(|cell| cell.to_string()).collect();
    let rule: Vec<String> = widths.iter().map(|width| "─".repeat(*width)).collect();
    for row in [&header, &rule].into_iter().chain(rows) {
        println!("{}", line(row, &widths, right).trim_end());
    }
}

fn line(row: &[String], widths: &[usize], right: &[bool]) -> String {
    let cell = |(column, text): (usize, &String)| {
        let space = " ".repeat(widths[column].saturating_sub(text.chars().count()));
        if right[column] { format!("{space}{text}") } else { format!("{text}{space}") }
    };
    row.iter().enumerate().map(cell).collect::<Vec<_>>().join("  ")
}

/// The text cut to so many characters, with an ellipsis where something is left out.
pub fn clipped(text: &str, most: usize) -> String {
    let line = text.split_whitespace().collect::<Vec<_>>().join(" ");
    if line.chars().count() <= most {
        return line;
    }
    let kept: String = line.chars().take(most.saturating_sub(1)).collect();
    format!("{}…", kept.trim_end())
}
