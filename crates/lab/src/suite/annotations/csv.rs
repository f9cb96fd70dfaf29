//! Tables of values divided by commas, in which a value may stand in quotes and hold anything.

/// The rows of a table; an empty line is none.
pub fn rows(text: &str) -> Vec<Vec<String>> {
    let mut rows: Vec<Vec<String>> = Vec::new();
    let (mut row, mut value, mut quoted) = (Vec::new(), String::new(), false);
    let mut letters = text.trim_start_matches('\u{feff}').chars().peekable();
    while let Some(letter) = letters.next() {
        match letter {
            '"' if quoted && letters.peek() == Some(&'"') => {
                letters.next();
                value.push('"');
            }
            '"' if quoted || value.is_empty() => quoted = !quoted,
            ',' if !quoted => row.push(std::mem::take(&mut value)),
            '\r' if !quoted && letters.peek() == Some(&'\n') => {}
            '\n' if !quoted => end_row(&mut rows, &mut row, &mut value),
            other => value.push(other),
        }
    }
    end_row(&mut rows, &mut row, &mut value);
    rows
}

fn end_row(rows: &mut Vec<Vec<String>>, row: &mut Vec<String>, value: &mut String) {
    if !row.is_empty() || !value.trim().is_empty() {
        row.push(std::mem::take(value));
        rows.push(std::mem::take(row));
    }
    value.clear();
}

/// A table whose first row names its columns.
pub struct Table {
    head: Vec<String>,
    /// The rows under the head.
    pub rows: Vec<Vec<String>>,
}

impl Table {
    /// Of this text.
    pub fn new(text: &str) -> Self {
        let mut rows = rows(text).into_iter();
        Self { head: rows.next().unwrap_or_default(), rows: rows.collect() }
    }

    /// The number of the first of these columns that is there.
    pub fn column(&self, names: &[&str]) -> Option<usize> {
        names.iter().find_map(|name| self.head.iter().position(|head| head.trim() == *name))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn quotes_hold_commas_lines_and_quotes() {
        let found = rows("a,b\r\n\"x, y\",\"say \"\"hi\"\"\nthere\"\n\n,last");
        assert_eq!(found, [vec!["a", "b"], vec!["x, y", "say \"hi\"\nthere"], vec!["", "last"]]);
        assert!(rows("").is_empty());
        assert_eq!(rows("\"open"), [vec!["open"]]);
        let table = Table::new("id,text\n1,boil");
        assert_eq!((table.column(&["word", "text"]), table.column(&["none"])), (Some(1), None));
    }
}
