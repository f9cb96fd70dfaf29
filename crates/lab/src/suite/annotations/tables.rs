//! Comma-separated files of others: rows whose lengths may differ, blank lines left out.

use std::path::{Path, PathBuf};

use csv::{ReaderBuilder, StringRecord};
use stitch_engine::files::FileError;

/// The rows of a text without a header.
pub fn rows(text: &str) -> impl Iterator<Item = StringRecord> {
    let reader =
        ReaderBuilder::new().has_headers(false).flexible(true).from_reader(text.as_bytes());
    let is_blank = |row: &StringRecord| row.len() == 1 && row[0].trim().is_empty();
    reader.into_records().flatten().filter(move |row| !is_blank(row))
}

/// A text whose first row names the columns.
pub struct NamedColumns {
    header: StringRecord,
    pub rows: Vec<StringRecord>,
}

impl NamedColumns {
    pub fn new(text: &str) -> Self {
        let mut rows = rows(text);
        Self { header: rows.next().unwrap_or_default(), rows: rows.collect() }
    }

    /// The number of the first of these columns that is there.
    pub fn column(&self, names: &[&str]) -> Option<usize> {
        names.iter().find_map(|name| self.header.iter().position(|head| head.trim() == *name))
    }
}

/// The trimmed value of a column; empty where the row is too short.
pub fn value(row: &StringRecord, column: usize) -> &str {
    row.get(column).unwrap_or_default().trim()
}

/// The row as one line, for messages.
pub fn line(row: &StringRecord) -> String {
    row.iter().collect::<Vec<_>>().join(",")
}

/// The files of a folder that end in `.csv`, by name.
pub fn csv_files(folder: &Path) -> Result<Vec<PathBuf>, FileError> {
    let entries = std::fs::read_dir(folder).map_err(FileError::at(folder))?;
    let mut paths: Vec<PathBuf> = entries.flatten().map(|entry| entry.path()).collect();
    paths.retain(|path| path.extension().is_some_and(|end| end == "csv"));
    paths.sort();
    Ok(paths)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn quotes_hold_commas_lines_and_quotes() {
        let rows = |text| rows(text).collect::<Vec<_>>();
        let found = rows("\u{feff}a,b\r\n\"x, y\",\"say \"\"hi\"\"\nthere\"\n\n \n,last");
        assert_eq!(found, [vec!["a", "b"], vec!["x, y", "say \"hi\"\nthere"], vec!["", "last"]]);
        assert!(rows("").is_empty());
        assert_eq!(rows("\"open"), [vec!["open"]]);
        let table = NamedColumns::new("id,text\n1,boil");
        assert_eq!((table.column(&["word", "text"]), table.column(&["none"])), (Some(1), None));
    }
}
