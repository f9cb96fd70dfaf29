//! The table of ratios, on the terminal and in benches/results.json.

use std::collections::BTreeSet;
use std::path::Path;

use serde_json::{Map, Value, json};

use super::ours::Numbers;
use super::pairs::{Bar, How, Pair, Row, Unit};

const FILE: &str = "benches/results.json";

/// What one run measured.
pub struct Report {
    /// On what.
    pub machine: Value,
    /// The pairs, in the order of the table.
    pub outcomes: Vec<Result>,
}

/// What one pair gave.
pub struct Result {
    /// The pair.
    pub pair: &'static Pair,
    /// Our numbers.
    pub ours: Numbers,
    /// Theirs, where there is another side.
    pub theirs: Option<Numbers>,
}

/// One line of the table, computed.
struct Line {
    label: &'static str,
    ours: Option<f64>,
    theirs: Option<f64>,
    ratio: Option<f64>,
    holds: Option<bool>,
    bar: Bar,
    unit: Unit,
}

impl Result {
    fn lines(&self) -> impl Iterator<Item = Line> {
        self.pair.rows.iter().map(|row| self.line(row))
    }

    fn line(&self, row: &Row) -> Line {
        let ours = number(self.source_of_ours(), row.ours);
        let theirs = self.theirs.as_ref().and_then(|theirs| number(theirs, row.theirs));
        let ratio = ours.zip(theirs).map(|(ours, theirs)| match row.unit {
            Unit::Seconds | Unit::Megabytes | Unit::Count => theirs / ours,
            Unit::PerSecond => ours / theirs,
        });
        let holds = match row.bar {
            Bar::None => None,
            Bar::Times(times) => ratio.map(|ratio| ratio >= times),
            Bar::AtMost(most) => ours.map(|ours| ours <= most),
            Bar::AtLeast(least) => ours.map(|ours| ours >= least),
        };
        Line { label: row.label, ours, theirs, ratio, holds, bar: row.bar, unit: row.unit }
    }

    /// Who prints our numbers: our side, or the script that runs both.
    fn source_of_ours(&self) -> &Numbers {
        match &self.theirs {
            Some(script) if self.pair.how == How::ByScript && self.ours.is_ok() => script,
            _ => &self.ours,
        }
    }

    /// `name (side): skipped: why` for each side, or number of a side, that is not there.
    fn skipped(&self) -> Vec<String> {
        let rival = self.pair.theirs.map_or("", |rival| rival.what);
        let mut told =
            absent("ours", self.source_of_ours(), self.pair.rows.iter().map(|row| row.ours));
        if let Some(theirs) = &self.theirs {
            told.extend(absent(rival, theirs, self.pair.rows.iter().map(|row| row.theirs)));
        }
        told.into_iter().map(|why| format!("{} {why}", self.pair.name)).collect()
    }

    fn json(&self, machine: &Value) -> Value {
        let side = |numbers: &Numbers| match numbers {
            Ok(numbers) => numbers.clone(),
            Err(why) => json!({ "skipped": why }),
        };
        let ratios = self.lines().filter_map(|line| Some((line.label.into(), line.ratio?.into())));
        json!({
            "ours": side(&self.ours),
            "theirs": self.theirs.as_ref().map(side),
            "ratios": ratios.collect::<Map<String, Value>>(),
            "machine": machine,
        })
    }
}

/// Why a side gives nothing, or which of its numbers are not there.
fn absent(side: &str, numbers: &Numbers, keys: impl Iterator<Item = &'static str>) -> Vec<String> {
    if let Err(why) = numbers {
        return vec![format!("({side}): skipped: {why}")];
    }
    let wanted: BTreeSet<&str> = keys.filter(|key| !key.is_empty()).collect();
    let missing = wanted.into_iter().filter(|key| number(numbers, key).is_none());
    missing.map(|key| format!("({side}): skipped: it printed no `{key}`")).collect()
}

fn number(numbers: &Numbers, key: &str) -> Option<f64> {
    let numbers = numbers.as_ref().ok()?;
    let found = if key.starts_with('/') { numbers.pointer(key) } else { numbers.get(key) };
    found?.as_f64()
}

impl Report {
    /// Whether every bar that could be judged holds.
    pub fn holds(&self) -> bool {
        self.outcomes.iter().flat_map(Result::lines).all(|line| line.holds != Some(false))
    }

    /// The table for people, which is Markdown for the documents as well.
    pub fn markdown(&self) -> String {
        let mut text = String::from("| benchmark | ours | theirs | ratio | bar | |\n");
        text += "|---|---:|---:|---:|---:|---|\n";
        for line in self.outcomes.iter().flat_map(Result::lines) {
            text += &line.markdown();
        }
        text += "\n";
        self.outcomes.iter().flat_map(Result::skipped).for_each(|why| text += &format!("{why}\n"));
        text + &self.machine_line()
    }

    fn machine_line(&self) -> String {
        let read = |key: &str| self.machine[key].to_string().replace('"', "");
        let threads = self.machine["threads"]["rayon"].to_string().replace('"', "");
        let (cpu, cores, rust) = (read("cpu"), read("cores"), read("rust"));
        format!("Measured on {cpu}, {cores} cores, {threads} threads, {rust}.\n")
    }

    /// Saves this run; pairs that were not run keep what they had.
    pub fn save(&self, root: &Path) -> std::result::Result<(), String> {
        let path = root.join(FILE);
        let before = std::fs::read_to_string(&path).ok();
        let before = before.and_then(|text| serde_json::from_str::<Map<String, Value>>(&text).ok());
        let mut pairs = before.unwrap_or_default();
        for outcome in self.outcomes.iter().filter(|outcome| outcome.ours.is_ok()) {
            pairs.insert(outcome.pair.name.to_owned(), outcome.json(&self.machine));
        }
        let text = format!("{:#}\n", Value::Object(pairs));
        std::fs::create_dir_all(root.join("benches"))
            .and_then(|()| std::fs::write(&path, text))
            .map_err(|e| format!("{FILE}: {e}"))
    }
}

impl Line {
    fn markdown(&self) -> String {
        let shown =
            |value: Option<f64>| value.map_or("–".to_owned(), |value| self.unit.show(value));
        let (ours, theirs) = (shown(self.ours), shown(self.theirs));
        let ratio = self.ratio.map_or("–".to_owned(), times);
        let bar = match self.bar {
            Bar::None => "–".to_owned(),
            Bar::Times(least) => format!("≥ {}", times(least)),
            Bar::AtMost(most) => format!("≤ {}", self.unit.show(most)),
            Bar::AtLeast(least) => format!("≥ {}", self.unit.show(least)),
        };
        let verdict = match self.holds {
            Some(true) => "holds",
            Some(false) => "**missed**",
            None => "",
        };
        format!("| {} | {ours} | {theirs} | {ratio} | {bar} | {verdict} |\n", self.label)
    }
}

fn times(ratio: f64) -> String {
    if ratio >= 10.0 { format!("{ratio:.0} x") } else { format!("{ratio:.2} x") }
}

impl Unit {
    fn show(self, value: f64) -> String {
        match self {
            Self::Seconds if value < 1e-3 => format!("{:.1} µs", value * 1e6),
            Self::Seconds if value < 1.0 => format!("{:.2} ms", value * 1e3),
            Self::Seconds => format!("{value:.2} s"),
            Self::Megabytes => format!("{value:.0} MB"),
            Self::PerSecond => format!("{value:.2} /s"),
            Self::Count => format!("{value:.0}"),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::super::pairs::PAIRS;
    use super::*;

    fn drop_dtw(ours_s: f64) -> Report {
        let ours = Ok(json!({ "drop_dtw_10x300_s": ours_s, "greedy_20x1000_s": 0.03 }));
        let theirs = Some(Ok(json!({ "plain_10x300_s": 0.02, "numpy_10x300_s": 0.001 })));
        let outcomes = vec![Result { pair: &PAIRS[0], ours, theirs }];
        let machine =
            json!({ "cpu": "a CPU", "cores": 2, "threads": { "rayon": "2" }, "rust": "r" });
        Report { machine, outcomes }
    }

    #[test]
    fn shows_ratios_and_judges_bars() {
        let text = drop_dtw(10e-6).markdown();
        assert!(
            text.contains("Python loop | 10.0 µs | 20.00 ms | 2000 x | ≥ 1000 x | holds |"),
            "{text}"
        );
        assert!(text.contains("videos | 30.00 ms | – | – | ≤ 20.00 ms | **missed** |"), "{text}");
        assert!(
            text.contains("drop-dtw (ours): skipped: it printed no `k_best_20x1000_s`"),
            "{text}"
        );
        assert!(text.contains("on a CPU, 2 cores, 2 threads, r."), "{text}");
    }

    #[test]
    fn a_script_that_runs_both_sides_gives_both_numbers() {
        let pair = PAIRS.iter().find(|pair| pair.how == How::ByScript).unwrap();
        let both = json!({ "stitch": { "cpu_s": 2.0 }, "moviepy": { "cpu_s": 10.0 } });
        let outcome = Result { pair, ours: Ok(json!({})), theirs: Some(Ok(both)) };
        let text = Report { machine: json!({}), outcomes: vec![outcome] }.markdown();
        assert!(
            text.contains("CPU time | 2.00 s | 10.00 s | 5.00 x | ≥ 4.00 x | holds |"),
            "{text}"
        );
    }

    #[test]
    fn a_missed_bar_fails_and_a_missing_side_does_not() {
        assert!(!drop_dtw(10e-6).holds());
        let ours = Err("x.rs is not there".to_owned());
        let report = Report {
            machine: json!({}),
            outcomes: vec![Result { pair: &PAIRS[0], ours, theirs: None }],
        };
        assert!(report.holds());
        assert!(report.markdown().contains("drop-dtw (ours): skipped: x.rs is not there"));
    }

    #[test]
    fn saving_keeps_the_pairs_that_were_not_run() {
        let folder = tempfile::tempdir().unwrap();
        std::fs::create_dir(folder.path().join("benches")).unwrap();
        let path = folder.path().join(FILE);
        std::fs::write(&path, r#"{"world": {"ours": {"x": 1}}}"#).unwrap();
        drop_dtw(1e-5).save(folder.path()).unwrap();
        let saved: Value = serde_json::from_str(&std::fs::read_to_string(&path).unwrap()).unwrap();
        assert_eq!(saved["world"]["ours"]["x"], 1);
        assert_eq!(saved["drop-dtw"]["ratios"]["Drop-DTW 10x300, Python loop"], 2000.0);
    }
}
