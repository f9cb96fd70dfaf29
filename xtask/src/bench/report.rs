//! The table of ratios and the machine they were measured on, on the terminal and in benches/results.json.

use std::collections::BTreeSet;
use std::path::Path;
use std::process::Command;

use serde_json::{Map, Value, json};

use super::pairs::{Bar, Mode, Pair, Row, Unit};
use super::sides::Values;
use crate::command::output;

const FILE: &str = "benches/results.json";

/// The outcomes of one run, in the order of the table.
pub struct Report {
    pub machine: Value,
    pub outcomes: Vec<Outcome>,
}

/// What the two sides of a pair printed.
pub struct Outcome {
    pub pair: &'static Pair,
    pub ours: Values,
    pub theirs: Option<Values>,
}

/// A row of the table with its values.
struct Line {
    row: &'static Row,
    ours: Option<f64>,
    theirs: Option<f64>,
    ratio: Option<f64>,
    holds: Option<bool>,
}

impl Outcome {
    fn lines(&self) -> impl Iterator<Item = Line> {
        self.pair.rows.iter().map(|row| self.line(row))
    }

    fn line(&self, row: &'static Row) -> Line {
        let ours = value(self.source_of_ours(), row.ours);
        let theirs = self.theirs.as_ref().and_then(|theirs| value(theirs, row.theirs));
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
        Line { row, ours, theirs, ratio, holds }
    }

    /// The output with our values: of our side, or of the script that runs both.
    fn source_of_ours(&self) -> &Values {
        match &self.theirs {
            Some(script) if self.pair.mode == Mode::Scripted && self.ours.is_ok() => script,
            _ => &self.ours,
        }
    }

    /// `name (side): skipped: why` for each side or value that is missing.
    fn skipped(&self) -> Vec<String> {
        let what = self.pair.theirs.unwrap_or("");
        let mut lines =
            missing("ours", self.source_of_ours(), self.pair.rows.iter().map(|row| row.ours));
        if let Some(theirs) = &self.theirs {
            lines.extend(missing(what, theirs, self.pair.rows.iter().map(|row| row.theirs)));
        }
        lines.into_iter().map(|why| format!("{} {why}", self.pair.name)).collect()
    }

    fn json(&self, machine: &Value) -> Value {
        let side = |values: &Values| match values {
            Ok(values) => values.clone(),
            Err(why) => json!({ "skipped": why }),
        };
        let ratios =
            self.lines().filter_map(|line| Some((line.row.label.into(), line.ratio?.into())));
        json!({
            "ours": side(&self.ours),
            "theirs": self.theirs.as_ref().map(side),
            "ratios": ratios.collect::<Map<String, Value>>(),
            "machine": machine,
        })
    }
}

/// Why a side was skipped, or which of its values are missing.
fn missing(side: &str, values: &Values, keys: impl Iterator<Item = &'static str>) -> Vec<String> {
    if let Err(why) = values {
        return vec![format!("({side}): skipped: {why}")];
    }
    let wanted: BTreeSet<&str> = keys.filter(|key| !key.is_empty()).collect();
    let missing = wanted.into_iter().filter(|key| value(values, key).is_none());
    missing.map(|key| format!("({side}): skipped: it printed no `{key}`")).collect()
}

fn value(values: &Values, key: &str) -> Option<f64> {
    let values = values.as_ref().ok()?;
    let found = if key.starts_with('/') { values.pointer(key) } else { values.get(key) };
    found?.as_f64()
}

impl Report {
    /// Whether no bar is missed; bars without values are not judged.
    pub fn holds(&self) -> bool {
        self.outcomes.iter().flat_map(Outcome::lines).all(|line| line.holds != Some(false))
    }

    /// The table, what was skipped, and the machine.
    pub fn markdown(&self) -> String {
        let mut text = String::from("| benchmark | ours | theirs | ratio | bar | |\n");
        text += "|---|---:|---:|---:|---:|---|\n";
        for line in self.outcomes.iter().flat_map(Outcome::lines) {
            text += &line.markdown();
        }
        text += "\n";
        self.outcomes.iter().flat_map(Outcome::skipped).for_each(|why| text += &format!("{why}\n"));
        text + &self.machine_line()
    }

    fn machine_line(&self) -> String {
        let read = |key: &str| self.machine[key].to_string().replace('"', "");
        let threads = self.machine["threads"]["rayon"].to_string().replace('"', "");
        let (cpu, cores, rust) = (read("cpu"), read("cores"), read("rust"));
        format!("Measured on {cpu}, {cores} cores, {threads} threads, {rust}.\n")
    }

    /// Saves this run; pairs that were not run keep their last results.
    pub fn save(&self, root: &Path) -> Result<(), String> {
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
            |value: Option<f64>| value.map_or("–".to_owned(), |value| self.row.unit.show(value));
        let (ours, theirs) = (shown(self.ours), shown(self.theirs));
        let ratio = self.ratio.map_or("–".to_owned(), times);
        let bar = match self.row.bar {
            Bar::None => "–".to_owned(),
            Bar::Times(least) => format!("≥ {}", times(least)),
            Bar::AtMost(most) => format!("≤ {}", self.row.unit.show(most)),
            Bar::AtLeast(least) => format!("≥ {}", self.row.unit.show(least)),
        };
        let verdict = match self.holds {
            Some(true) => "holds",
            Some(false) => "**missed**",
            None => "",
        };
        format!("| {} | {ours} | {theirs} | {ratio} | {bar} | {verdict} |\n", self.row.label)
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

/// Hardware, versions and thread counts, as saved with the results.
pub fn machine() -> Value {
    let cores = std::thread::available_parallelism().map_or(0, usize::from);
    let threads = |name: &str| std::env::var(name).unwrap_or_else(|_| cores.to_string());
    let cpu = proc_field("/proc/cpuinfo", "model name");
    json!({
        "cpu": cpu.unwrap_or_else(|| std::env::consts::ARCH.to_owned()),
        "cores": cores,
        "memory_gib": memory_gib(),
        "system": first_line("uname", &["-sr"]),
        "rust": first_line("rustc", &["--version"]),
        "python": first_line("python3", &["--version"]),
        "ffmpeg": first_line("ffmpeg", &["-version"]),
        "threads": {
            "rayon": threads("RAYON_NUM_THREADS"),
            "openmp": threads("OMP_NUM_THREADS"),
        },
    })
}

fn memory_gib() -> Option<u64> {
    let kib = proc_field("/proc/meminfo", "MemTotal")?;
    kib.split(' ').next()?.parse::<u64>().ok().map(|kib| kib.div_ceil(1024 * 1024))
}

fn proc_field(file: &str, field: &str) -> Option<String> {
    let text = std::fs::read_to_string(file).ok()?;
    let line = text.lines().find(|line| line.starts_with(field))?;
    line.split_once(':').map(|(_, value)| value.trim().to_owned())
}

fn first_line(program: &str, arguments: &[&str]) -> Option<String> {
    let printed = output(Command::new(program).args(arguments)).ok()?;
    String::from_utf8_lossy(&printed).lines().next().map(str::to_owned)
}

#[cfg(test)]
mod tests {
    use super::super::pairs::PAIRS;
    use super::*;

    fn drop_dtw(ours_s: f64) -> Report {
        let ours = Ok(json!({ "drop_dtw_10x300_s": ours_s, "greedy_20x1000_s": 0.03 }));
        let theirs = Some(Ok(json!({ "plain_10x300_s": 0.02, "numpy_10x300_s": 0.001 })));
        let outcomes = vec![Outcome { pair: &PAIRS[0], ours, theirs }];
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
        let pair = PAIRS.iter().find(|pair| pair.mode == Mode::Scripted).unwrap();
        let both = json!({ "stitch": { "cpu_s": 2.0 }, "moviepy": { "cpu_s": 10.0 } });
        let outcome = Outcome { pair, ours: Ok(json!({})), theirs: Some(Ok(both)) };
        let text = Report { machine: json!({}), outcomes: vec![outcome] }.markdown();
        assert!(
            text.contains("CPU time | 2.00 s | 10.00 s | 5.00 x | ≥ 4.00 x | holds |"),
            "{text}"
        );
    }

    #[test]
    fn a_missed_bar_fails_and_a_missing_side_does_not() {
        assert!(!drop_dtw(10e-6).holds());
        let ours = Err("x.rs does not exist".to_owned());
        let report = Report {
            machine: json!({}),
            outcomes: vec![Outcome { pair: &PAIRS[0], ours, theirs: None }],
        };
        assert!(report.holds());
        assert!(report.markdown().contains("drop-dtw (ours): skipped: x.rs does not exist"));
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
