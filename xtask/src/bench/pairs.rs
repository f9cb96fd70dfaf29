//! The table of benchmarks, benches/pairs.json: what runs on each side, which values are compared, and the bars.

use std::sync::LazyLock;

use serde::Deserialize;

pub static PAIRS: LazyLock<Vec<Pair>> = LazyLock::new(|| {
    // cannot fail: a test reads it
    serde_json::from_str(include_str!("../../../benches/pairs.json")).unwrap()
});

/// One benchmark: a bench target of the workspace, and the alternative that a user has.
#[derive(Deserialize)]
pub struct Pair {
    pub name: &'static str,
    pub summary: &'static str,
    /// The bench target, which prints one JSON object.
    pub ours: &'static str,
    pub mode: Mode,
    /// What `benches/NAME.py` measures. The script prints one JSON object and needs the packages in
    /// `benches/requirements-NAME.txt`.
    pub theirs: Option<&'static str>,
    pub rows: Vec<Row>,
}

#[derive(Clone, Copy, PartialEq, Eq, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum Mode {
    /// Each side runs without arguments.
    Separate,
    /// Each side runs with this model's folder as its argument.
    WithModel(&'static str),
    /// The bench target is only built; the script runs both sides on the same input.
    Scripted,
}

#[derive(Deserialize)]
pub struct Row {
    pub label: &'static str,
    /// The key or JSON pointer of our value.
    pub ours: &'static str,
    /// The same for theirs; empty if there is none.
    #[serde(default)]
    pub theirs: &'static str,
    pub unit: Unit,
    #[serde(default)]
    pub bar: Bar,
}

#[derive(Clone, Copy, PartialEq, Eq, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum Unit {
    Seconds,
    Megabytes,
    /// The only unit of which more is better.
    PerSecond,
    Count,
}

/// What our value must reach.
#[derive(Clone, Copy, Default, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum Bar {
    #[default]
    None,
    /// At least this many times better than theirs.
    Times(f64),
    AtMost(f64),
    AtLeast(f64),
}
