//! A preference study on disk: `study.json` says which videos are compared, `answers.db` what raters
//! said. Which side is which is a matter of each rater's recorded seed.

use std::collections::BTreeMap;
use std::path::{Path, PathBuf};
use std::sync::{Mutex, PoisonError};

use rand::{RngExt, SeedableRng, seq::SliceRandom};
use rand_chacha::ChaCha8Rng;
use rusqlite::{Connection, OptionalExtension, params};
use serde::{Deserialize, Serialize};
use stitch_engine::files::{FileError, write_whole};
use utoipa::ToSchema;

use crate::store::now_ms;

/// What raters are asked about a pair; the last is about the whole.
pub const QUESTIONS: [(&str, &str, &str); 4] = [
    ("steps", "Which one shows the written steps better?", "Every step is seen, as it is written."),
    ("goal", "Which one leads to the goal better?", "After watching you could make it."),
    ("quality", "Which one looks better?", "Calm cuts, a picture that goes on, no jumps."),
    ("overall", "Which one would you rather follow?", "All things considered."),
];

/// The study as it is written down.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct Plan {
    /// The version of this format.
    pub version: u32,
    /// What it is called.
    pub title: String,
    /// The seed of everything random in making it.
    pub seed: u64,
    /// The methods compared.
    pub methods: Vec<String>,
    /// The procedures, each shown by every method.
    pub samples: Vec<Sample>,
    /// Who is compared with whom.
    pub pairs: Vec<Pair>,
}

/// A procedure and the videos of it.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct Sample {
    /// A short name.
    pub name: String,
    /// What it makes.
    pub title: String,
    /// Its steps.
    pub steps: Vec<String>,
    /// The videos by method.
    pub videos: BTreeMap<String, Rendered>,
}

/// One method's video.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct Rendered {
    /// Its file, beside `study.json`.
    pub file: String,
    /// When each step is shown, in milliseconds; none where it is not known.
    pub steps: Vec<Option<(u64, u64)>>,
}

/// Two methods on one procedure.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Pair {
    /// Which sample.
    pub sample: usize,
    /// One method.
    pub a: String,
    /// The other.
    pub b: String,
}

impl Plan {
    /// The current version of the format.
    pub const VERSION: u32 = 1;

    /// Every two methods on every sample.
    pub fn new(title: &str, seed: u64, methods: &[String], samples: Vec<Sample>) -> Self {
        let mut pairs = Vec::new();
        for sample in 0..samples.len() {
            for (i, a) in methods.iter().enumerate() {
                for b in &methods[i + 1..] {
                    pairs.push(Pair { sample, a: a.clone(), b: b.clone() });
                }
            }
        }
        let (title, methods) = (title.to_owned(), methods.to_vec());
        Self { version: Self::VERSION, title, seed, methods, samples, pairs }
    }

    /// Writes `study.json` into the folder.
    pub fn write(&self, folder: &Path) -> Result<(), StudyError> {
        let file = folder.join("study.json");
        let text = serde_json::to_string_pretty(self)
            .map_err(|source| StudyError::Shape { file: file.clone(), source })?;
        Ok(write_whole(&file, text.as_bytes())?)
    }

    fn read(folder: &Path) -> Result<Self, StudyError> {
        let file = folder.join("study.json");
        let text = std::fs::read(&file).map_err(FileError::at(&file))?;
        let plan: Self = serde_json::from_slice(&text)
            .map_err(|source| StudyError::Shape { file: file.clone(), source })?;
        plan.check(file)
    }

    /// That every pair has its videos, in this very folder.
    fn check(self, file: PathBuf) -> Result<Self, StudyError> {
        let plain = |name: &str| Path::new(name).file_name().is_some_and(|only| only == name);
        let whole = |pair: &Pair| {
            self.samples.get(pair.sample).is_some_and(|sample| {
                [&pair.a, &pair.b]
                    .into_iter()
                    .all(|method| sample.videos.get(method).is_some_and(|video| plain(&video.file)))
            })
        };
        let good = self.version == Self::VERSION && self.pairs.iter().all(whole);
        if good && !self.pairs.is_empty() { Ok(self) } else { Err(StudyError::Incomplete { file }) }
    }
}

/// Why there is no study.
#[derive(Debug, thiserror::Error)]
pub enum StudyError {
    /// A file cannot be read or written.
    #[error(transparent)]
    File(#[from] FileError),
    /// It is not written as it should be.
    #[error("{} is no study ({source}); make one with `stitch study new`", file.display())]
    Shape {
        /// The file.
        file: PathBuf,
        /// What is wrong.
        source: serde_json::Error,
    },
    /// Pairs without videos.
    #[error("{} has no pairs, or pairs without videos; make it again with `stitch study new`",
        file.display())]
    Incomplete {
        /// The file.
        file: PathBuf,
    },
    /// The answers cannot be kept.
    #[error("{} cannot be used ({source}); see that its disk is not full", file.display())]
    Answers {
        /// The database.
        file: PathBuf,
        /// What SQLite says.
        source: rusqlite::Error,
    },
}

/// What a rater says of a pair.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize, ToSchema)]
#[serde(rename_all = "snake_case")]
pub enum Verdict {
    /// The left one.
    Left,
    /// The right one.
    Right,
    /// Neither more than the other.
    Tie,
}

/// A rater.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Rater {
    /// What only they know.
    pub key: String,
    /// What they call themselves.
    pub name: String,
    /// What orders pairs and sides for them.
    pub seed: u64,
}

/// One answer, sides taken away.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct Answer {
    /// Who gave it.
    pub rater: String,
    /// The sample's name.
    pub sample: String,
    /// One method.
    pub a: String,
    /// The other.
    pub b: String,
    /// The question.
    pub question: String,
    /// The method preferred; none is a tie.
    pub preferred: Option<String>,
    /// What stood on the left.
    pub left: String,
    /// The rater's seed.
    pub seed: u64,
    /// How long the rater looked at the pair, in seconds.
    pub seconds: f64,
    /// When, in milliseconds since 1970.
    pub answered_ms: i64,
}

/// A pair as a rater sees it.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Turn {
    /// Which pair.
    pub pair: usize,
    /// Whether `b` stands on the left.
    pub flipped: bool,
}

/// The pairs in a rater's order, each with its sides.
pub fn turns(pairs: usize, seed: u64) -> Vec<Turn> {
    let mut dice = ChaCha8Rng::seed_from_u64(seed);
    let mut order: Vec<usize> = (0..pairs).collect();
    order.shuffle(&mut dice);
    order.into_iter().map(|pair| Turn { pair, flipped: dice.random() }).collect()
}

const TABLES: &str = "
    CREATE TABLE IF NOT EXISTS raters (
        key TEXT PRIMARY KEY, name TEXT NOT NULL, seed INTEGER NOT NULL, created_ms INTEGER NOT NULL
    );
    CREATE TABLE IF NOT EXISTS answers (
        rater TEXT NOT NULL REFERENCES raters, pair INTEGER NOT NULL, question TEXT NOT NULL,
        verdict TEXT NOT NULL, flipped INTEGER NOT NULL, seconds REAL NOT NULL,
        answered_ms INTEGER NOT NULL, PRIMARY KEY (rater, pair, question)
    ) WITHOUT ROWID;
";

/// An open study.
pub struct Study {
    /// What is compared.
    pub plan: Plan,
    folder: PathBuf,
    answers: Mutex<Connection>,
}

impl Study {
    /// Opens the study in a folder.
    pub fn open(folder: &Path) -> Result<Self, StudyError> {
        let plan = Plan::read(folder)?;
        let file = folder.join("answers.db");
        let open = || {
            let database = Connection::open(&file)?;
            database.busy_timeout(std::time::Duration::from_secs(10))?;
            database.query_row("PRAGMA journal_mode = WAL", [], |_| Ok(()))?;
            database.execute_batch(TABLES)?;
            Ok(database)
        };
        let answers =
            open().map_err(|source| StudyError::Answers { file: file.clone(), source })?;
        Ok(Self { plan, folder: folder.into(), answers: Mutex::new(answers) })
    }

    fn lock(&self) -> std::sync::MutexGuard<'_, Connection> {
        self.answers.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Admits a rater.
    pub fn admit(&self, name: &str, key: &str, seed: u64) -> rusqlite::Result<Rater> {
        self.lock().execute(
            "INSERT INTO raters VALUES (?, ?, ?, ?)",
            params![key, name, seed as i64, now_ms()],
        )?;
        Ok(Rater { key: key.into(), name: name.into(), seed })
    }

    /// The rater with this key.
    pub fn rater(&self, key: &str) -> rusqlite::Result<Option<Rater>> {
        let read = |row: &rusqlite::Row<'_>| {
            Ok(Rater { key: row.get(0)?, name: row.get(1)?, seed: row.get::<_, i64>(2)? as u64 })
        };
        let find = "SELECT key, name, seed FROM raters WHERE key = ?";
        self.lock().query_row(find, [key], read).optional()
    }

    /// The pairs that a rater has answered.
    pub fn answered(&self, rater: &Rater) -> rusqlite::Result<Vec<usize>> {
        let database = self.lock();
        let mut query = database.prepare(
            "SELECT pair FROM answers WHERE rater = ? GROUP BY pair HAVING count(*) = ?",
        )?;
        let count = QUESTIONS.len() as i64;
        let rows = query.query_map(params![rater.key, count], |row| row.get::<_, i64>(0))?;
        rows.map(|row| row.map(|pair| pair.max(0) as usize)).collect()
    }

    /// What a rater said of a pair, by question.
    pub fn verdicts(
        &self,
        rater: &Rater,
        pair: usize,
    ) -> rusqlite::Result<BTreeMap<String, String>> {
        let database = self.lock();
        let mut query = database
            .prepare("SELECT question, verdict FROM answers WHERE rater = ? AND pair = ?")?;
        query
            .query_map(params![rater.key, pair as i64], |row| Ok((row.get(0)?, row.get(1)?)))?
            .collect()
    }

    /// Keeps what a rater says of a pair; said again, the last counts.
    pub fn answer(
        &self,
        rater: &Rater,
        turn: Turn,
        verdicts: &[(&str, Verdict)],
        seconds: f64,
    ) -> rusqlite::Result<()> {
        let mut database = self.lock();
        let writing = database.transaction()?;
        for (question, verdict) in verdicts {
            let verdict = match verdict {
                Verdict::Left => "left",
                Verdict::Right => "right",
                Verdict::Tie => "tie",
            };
            writing.execute(
                "INSERT OR REPLACE INTO answers VALUES (?, ?, ?, ?, ?, ?, ?)",
                params![
                    rater.key,
                    turn.pair as i64,
                    question,
                    verdict,
                    turn.flipped,
                    seconds,
                    now_ms()
                ],
            )?;
        }
        writing.commit()
    }

    /// Every answer, in the order of raters and pairs.
    pub fn answers(&self) -> rusqlite::Result<Vec<Answer>> {
        let database = self.lock();
        let mut query = database.prepare(
            "SELECT name, key, seed, pair, question, verdict, flipped, seconds, answered_ms
             FROM answers JOIN raters ON key = rater ORDER BY raters.created_ms, key, pair, question",
        )?;
        let rows = query.query_map([], |row| self.read(row))?;
        rows.filter_map(Result::transpose).collect()
    }

    fn read(&self, row: &rusqlite::Row<'_>) -> rusqlite::Result<Option<Answer>> {
        let (name, key): (String, String) = (row.get(0)?, row.get(1)?);
        let Some(pair) = self.plan.pairs.get(row.get::<_, i64>(3)?.max(0) as usize) else {
            return Ok(None);
        };
        let (verdict, flipped): (String, bool) = (row.get(5)?, row.get(6)?);
        let (left, right) = if flipped { (&pair.b, &pair.a) } else { (&pair.a, &pair.b) };
        let preferred = match verdict.as_str() {
            "left" => Some(left.clone()),
            "right" => Some(right.clone()),
            _ => None,
        };
        // Two raters may have one name; a piece of the key tells them apart.
        let rater = format!("{name} {}", key.chars().take(6).collect::<String>());
        let sample = self.plan.samples.get(pair.sample).map_or("", |sample| &sample.name);
        Ok(Some(Answer {
            rater: rater.trim().into(),
            sample: sample.into(),
            a: pair.a.clone(),
            b: pair.b.clone(),
            question: row.get(4)?,
            preferred,
            left: left.clone(),
            seed: row.get::<_, i64>(2)? as u64,
            seconds: row.get(7)?,
            answered_ms: row.get(8)?,
        }))
    }

    /// The file of one side of a turn.
    pub fn video(&self, turn: Turn, left: bool) -> Option<PathBuf> {
        let video = self.side(turn, left)?;
        Some(self.folder.join(&video.file))
    }

    /// One side of a turn.
    pub fn side(&self, turn: Turn, left: bool) -> Option<&Rendered> {
        let pair = self.plan.pairs.get(turn.pair)?;
        let method = if left == turn.flipped { &pair.b } else { &pair.a };
        self.plan.samples.get(pair.sample)?.videos.get(method)
    }
}

/// The answers as CSV.
pub fn csv(answers: &[Answer]) -> String {
    let mut text = String::from(
        "rater,sample,method_a,method_b,question,preferred,left,seed,seconds,answered_ms\n",
    );
    for answer in answers {
        let preferred = answer.preferred.as_deref().unwrap_or("tie");
        let cells = [&answer.rater, &answer.sample, &answer.a, &answer.b, &answer.question];
        let cells = cells.into_iter().map(String::as_str).chain([preferred, &answer.left]);
        let cells: Vec<String> = cells.map(cell).collect();
        let Answer { seed, seconds, answered_ms, .. } = answer;
        text.push_str(&format!("{},{seed},{seconds:.1},{answered_ms}\n", cells.join(",")));
    }
    text
}

/// A cell that spreadsheets take as the text it is: quoted, and never as a formula.
fn cell(text: &str) -> String {
    let harmless = if text.starts_with(['=', '+', '-', '@']) { "'" } else { "" };
    format!("\"{harmless}{}\"", text.replace('"', "\"\""))
}

/// The answers as battles, a JSON object a line, as LMArena keeps them.
pub fn battles(answers: &[Answer]) -> String {
    let line = |answer: &Answer| {
        let winner = match &answer.preferred {
            None => "tie",
            Some(method) if *method == answer.a => "model_a",
            Some(_) => "model_b",
        };
        let battle = serde_json::json!({
            "question_id": format!("{}/{}", answer.sample, answer.question),
            "model_a": answer.a, "model_b": answer.b, "winner": winner, "judge": answer.rater,
            "turn": 1, "anony": true, "language": "English",
            "tstamp": answer.answered_ms as f64 / 1000.0,
        });
        battle.to_string() + "\n"
    };
    answers.iter().map(line).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn sides_and_order_come_from_the_seed_and_differ_between_raters() {
        let (one, again, other) = (turns(40, 1), turns(40, 1), turns(40, 2));
        assert_eq!(one, again);
        assert_ne!(one, other);
        let mut pairs: Vec<usize> = one.iter().map(|turn| turn.pair).collect();
        pairs.sort_unstable();
        assert_eq!(pairs, (0..40).collect::<Vec<_>>());
        let flipped = one.iter().filter(|turn| turn.flipped).count();
        assert!((8..32).contains(&flipped), "{flipped}");
    }

    #[test]
    fn files_outside_the_folder_are_refused() {
        let rendered = |file: &str| Rendered { file: file.into(), steps: vec![] };
        let sample = |file: &str| Sample {
            name: "s".into(),
            title: String::new(),
            steps: vec![],
            videos: [("a".into(), rendered("a.mp4")), ("b".into(), rendered(file))].into(),
        };
        let methods = ["a".to_owned(), "b".to_owned()];
        let check = |file: &str| Plan::new("", 0, &methods, vec![sample(file)]).check("x".into());
        assert!(check("b.mp4").is_ok());
        for file in ["../b.mp4", "/etc/passwd", "c/b.mp4", "", ".."] {
            assert!(check(file).is_err(), "{file}");
        }
    }

    #[test]
    fn cells_are_quoted_and_never_formulas() {
        assert_eq!(cell("a \"b\", c"), "\"a \"\"b\"\", c\"");
        assert_eq!(cell("=1+1"), "\"'=1+1\"");
    }
}
