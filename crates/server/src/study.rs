//! A preference study on disk: `study.json` lists the videos that are compared, `answers.db` holds the
//! raters' answers. Each rater's recorded seed decides the order of pairs and which side a video is on.

use std::collections::BTreeMap;
use std::path::{Path, PathBuf};

use rand::{RngExt, SeedableRng, seq::SliceRandom};
use rand_chacha::ChaCha8Rng;
use rusqlite::{OptionalExtension, Row, params};
use serde::{Deserialize, Serialize};
use stitch_engine::files::{self, FileError, write_whole};
use utoipa::ToSchema;

use crate::database::{Database, from_name, now_ms, to_name};
use crate::error::ServerError;
use crate::settings::random_token;

/// Name, question and explanation. The last one is about the whole.
pub const QUESTIONS: [(&str, &str, &str); 4] = [
    (
        "steps",
        "Which one shows the written steps better?",
        "Every step is visible, as it is written.",
    ),
    ("goal", "Which one leads to the goal better?", "After watching you could make it."),
    ("quality", "Which one looks better?", "Smooth cuts, a continuous picture, no jumps."),
    ("overall", "Which one would you rather follow?", "All things considered."),
];

const ANSWERS: &str = "answers.db";

/// The content of `study.json`.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct StudyPlan {
    pub version: u32,
    pub title: String,
    /// The seed that the videos were made with.
    pub seed: u64,
    pub methods: Vec<String>,
    pub samples: Vec<Sample>,
    pub pairs: Vec<Pair>,
}

/// A procedure and its videos.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct Sample {
    pub name: String,
    pub title: String,
    pub steps: Vec<String>,
    /// One per method.
    pub videos: BTreeMap<String, StudyVideo>,
}

#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct StudyVideo {
    /// A file name in the study's folder.
    pub file: String,
    /// When each step is shown, in milliseconds, if known.
    pub steps: Vec<Option<(u64, u64)>>,
}

/// Two methods on one procedure.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Pair {
    /// An index into the plan's samples.
    pub sample: usize,
    pub a: String,
    pub b: String,
}

impl StudyPlan {
    /// The version of the file format.
    const VERSION: u32 = 1;
    const FILE: &str = "study.json";

    /// Pairs every two methods on every sample.
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

    /// Creates the folder of a new study. One that holds a study is refused, because its answers would count
    /// for the new one; with `force` it is kept as `study-N.json` and `answers-N.db`.
    pub fn create_folder(folder: &Path, force: bool) -> Result<(), ServerError> {
        let holds_study = [Self::FILE, ANSWERS].iter().any(|name| folder.join(name).exists());
        if holds_study && !force {
            return Err(ServerError::OldStudy { folder: folder.into() });
        }
        files::create_folder(folder)?;
        Ok(keep_aside(folder)?)
    }

    /// Writes `study.json` into the folder.
    pub fn write(&self, folder: &Path) -> Result<(), ServerError> {
        let text = format!("{:#}", serde_json::json!(self));
        Ok(write_whole(&folder.join(Self::FILE), text.as_bytes())?)
    }

    fn read(folder: &Path) -> Result<Self, ServerError> {
        let file = folder.join(Self::FILE);
        let text = std::fs::read(&file).map_err(FileError::at(&file))?;
        let plan = serde_json::from_slice(&text).map_err(|error| error.to_string());
        let incomplete = "it has no pairs, or pairs without videos".to_owned();
        plan.and_then(|plan: Self| if plan.is_complete() { Ok(plan) } else { Err(incomplete) })
            .map_err(|reason| ServerError::Study { file, reason })
    }

    /// Whether there are pairs, and all their videos are files of the study's own folder.
    fn is_complete(&self) -> bool {
        let is_name = |name: &str| Path::new(name).file_name().is_some_and(|only| only == name);
        let has_videos = |pair: &Pair| {
            self.samples.get(pair.sample).is_some_and(|sample| {
                let video = |method| sample.videos.get(method);
                [&pair.a, &pair.b].map(video).iter().all(|v| v.is_some_and(|v| is_name(&v.file)))
            })
        };
        self.version == Self::VERSION && !self.pairs.is_empty() && self.pairs.iter().all(has_videos)
    }
}

/// Gives the files of a study, if there are any, names that are not in use. `study.json` goes first:
/// without it no study can be opened.
fn keep_aside(folder: &Path) -> Result<(), FileError> {
    let is_unused = |names: &[String; 2]| names.iter().all(|name| !folder.join(name).exists());
    let mut kept = (1u32..).map(|n| [format!("study-{n}.json"), format!("answers-{n}.db")]);
    let Some([plan, answers]) = kept.find(is_unused) else { return Ok(()) };
    let mut renamed = vec![(StudyPlan::FILE.to_owned(), plan)];
    // SQLite keeps answers in the write-ahead log too.
    let parts = ["", "-wal", "-shm"];
    renamed.extend(parts.map(|end| (format!("{ANSWERS}{end}"), format!("{answers}{end}"))));
    for (from, to) in renamed {
        let from = folder.join(from);
        if from.exists() {
            std::fs::rename(&from, folder.join(to)).map_err(FileError::at(&from))?;
        }
    }
    Ok(())
}

/// A rater's answer to one question
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize, ToSchema)]
#[serde(rename_all = "snake_case")]
pub enum Verdict {
    Left,
    Right,
    /// No difference
    Tie,
}

#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Rater {
    /// Secret: whoever knows it answers as this rater.
    pub key: String,
    pub name: String,
    /// Decides the order and the sides of this rater's pairs.
    pub seed: u64,
}

/// One answer by method instead of by side.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct Answer {
    pub rater: String,
    pub sample: String,
    pub a: String,
    pub b: String,
    pub question: String,
    /// None is a tie.
    pub preferred: Option<String>,
    /// The method that was on the left.
    pub left: String,
    /// The rater's.
    pub seed: u64,
    /// How long the rater looked at the pair.
    pub seconds: f64,
    /// Since 1970.
    pub answered_ms: i64,
}

/// A pair as it is presented to a rater.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Trial {
    /// An index into the plan's pairs.
    pub pair: usize,
    /// Whether `b` is on the left.
    pub flipped: bool,
}

/// A rater's trials, in order.
pub fn trials(pairs: usize, seed: u64) -> Vec<Trial> {
    let mut rng = ChaCha8Rng::seed_from_u64(seed);
    let mut order: Vec<usize> = (0..pairs).collect();
    order.shuffle(&mut rng);
    order.into_iter().map(|pair| Trial { pair, flipped: rng.random() }).collect()
}

const TABLES: &str = include_str!("study.sql");

pub struct Study {
    pub plan: StudyPlan,
    /// Opens the pages of raters; the same after a restart, so that their links stay valid.
    pub token: String,
    folder: PathBuf,
    database: Database,
}

impl Study {
    pub fn open(folder: &Path) -> Result<Self, ServerError> {
        let plan = StudyPlan::read(folder)?;
        let file = folder.join(ANSWERS);
        let database = Database::open(&file, |db| db.execute_batch(TABLES))?;
        let new = random_token()?;
        let token = database.write(|db| {
            let add = "INSERT INTO access SELECT ? WHERE NOT EXISTS (SELECT 1 FROM access)";
            db.execute(add, [new])?;
            db.query_row("SELECT token FROM access", [], |row| row.get(0))
        });
        let token = token.map_err(|source| ServerError::Database { file, source })?;
        Ok(Self { plan, token, folder: folder.into(), database })
    }

    pub fn add_rater(&self, rater: &Rater) -> rusqlite::Result<usize> {
        let Rater { key, name, seed } = rater;
        let add = "INSERT INTO raters VALUES (?, ?, ?, ?)";
        self.database.lock().execute(add, params![key, name, *seed as i64, now_ms()])
    }

    pub fn rater(&self, key: &str) -> rusqlite::Result<Option<Rater>> {
        let read = |row: &Row<'_>| {
            Ok(Rater { key: row.get(0)?, name: row.get(1)?, seed: row.get::<_, i64>(2)? as u64 })
        };
        let find = "SELECT key, name, seed FROM raters WHERE key = ?";
        self.database.lock().query_row(find, [key], read).optional()
    }

    /// The pairs that a rater has answered completely.
    pub fn answered(&self, rater: &Rater) -> rusqlite::Result<Vec<usize>> {
        let database = self.database.lock();
        let mut query = database.prepare(
            "SELECT pair FROM answers WHERE rater = ? GROUP BY pair HAVING count(*) = ?",
        )?;
        let count = QUESTIONS.len() as i64;
        let rows = query.query_map(params![rater.key, count], |row| row.get::<_, i64>(0))?;
        rows.map(|row| row.map(|pair| pair.max(0) as usize)).collect()
    }

    /// A rater's verdicts on a pair, by question.
    pub fn verdicts(
        &self,
        rater: &Rater,
        pair: usize,
    ) -> rusqlite::Result<BTreeMap<String, String>> {
        let database = self.database.lock();
        let mut query = database
            .prepare("SELECT question, verdict FROM answers WHERE rater = ? AND pair = ?")?;
        let read = |row: &Row<'_>| Ok((row.get(0)?, row.get(1)?));
        query.query_map(params![rater.key, pair as i64], read)?.collect()
    }

    /// Saves a rater's verdicts on a pair, in place of earlier ones.
    pub fn answer(
        &self,
        rater: &Rater,
        trial: Trial,
        verdicts: &[(&str, Verdict)],
        seconds: f64,
    ) -> rusqlite::Result<()> {
        let Trial { pair, flipped } = trial;
        let (key, pair, now) = (&rater.key, pair as i64, now_ms());
        self.database.write(|db| {
            for (question, verdict) in verdicts {
                db.execute(
                    "INSERT OR REPLACE INTO answers VALUES (?, ?, ?, ?, ?, ?, ?)",
                    params![key, pair, question, to_name(verdict), flipped, seconds, now],
                )?;
            }
            Ok(())
        })
    }

    /// All answers, ordered by rater and pair.
    pub fn answers(&self) -> rusqlite::Result<Vec<Answer>> {
        let database = self.database.lock();
        let mut query = database.prepare(
            "SELECT name, key, seed, pair, question, verdict, flipped, seconds, answered_ms
             FROM answers JOIN raters ON key = rater ORDER BY raters.created_ms, key, pair, question",
        )?;
        let rows = query.query_map([], |row| self.read(row))?;
        rows.filter_map(Result::transpose).collect()
    }

    /// None if the plan no longer has the pair.
    fn read(&self, row: &Row<'_>) -> rusqlite::Result<Option<Answer>> {
        let (name, key): (String, String) = (row.get(0)?, row.get(1)?);
        let Some(pair) = self.plan.pairs.get(row.get::<_, i64>(3)?.max(0) as usize) else {
            return Ok(None);
        };
        let (left, right) = if row.get(6)? { (&pair.b, &pair.a) } else { (&pair.a, &pair.b) };
        let preferred = match from_name(row, 5)? {
            Verdict::Left => Some(left.clone()),
            Verdict::Right => Some(right.clone()),
            Verdict::Tie => None,
        };
        // Two raters may have the same name; the start of the key tells them apart.
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

    pub fn file(&self, trial: Trial, left: bool) -> Option<PathBuf> {
        Some(self.folder.join(&self.side(trial, left)?.file))
    }

    pub fn side(&self, trial: Trial, left: bool) -> Option<&StudyVideo> {
        let pair = self.plan.pairs.get(trial.pair)?;
        let method = if left == trial.flipped { &pair.b } else { &pair.a };
        self.plan.samples.get(pair.sample)?.videos.get(method)
    }
}

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

/// A quoted CSV cell that spreadsheets do not evaluate as a formula.
fn cell(text: &str) -> String {
    let escape = if text.starts_with(['=', '+', '-', '@']) { "'" } else { "" };
    format!("\"{escape}{}\"", text.replace('"', "\"\""))
}

/// The answers as JSON lines in the format of LMArena's battles.
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
        let (one, again, other) = (trials(40, 1), trials(40, 1), trials(40, 2));
        assert_eq!(one, again);
        assert_ne!(one, other);
        let mut pairs: Vec<usize> = one.iter().map(|trial| trial.pair).collect();
        pairs.sort_unstable();
        assert_eq!(pairs, (0..40).collect::<Vec<_>>());
        let flipped = one.iter().filter(|trial| trial.flipped).count();
        assert!((8..32).contains(&flipped), "{flipped}");
    }

    #[test]
    fn files_outside_the_folder_are_refused() {
        let rendered = |file: &str| StudyVideo { file: file.into(), steps: vec![] };
        let sample = |file: &str| Sample {
            name: "s".into(),
            title: String::new(),
            steps: vec![],
            videos: [("a".into(), rendered("a.mp4")), ("b".into(), rendered(file))].into(),
        };
        let methods = ["a".to_owned(), "b".to_owned()];
        let check = |file: &str| StudyPlan::new("", 0, &methods, vec![sample(file)]).is_complete();
        assert!(check("b.mp4"));
        for file in ["../b.mp4", "/etc/passwd", "c/b.mp4", "", ".."] {
            assert!(!check(file), "{file}");
        }
    }

    #[test]
    fn cells_are_quoted_and_never_formulas() {
        assert_eq!(cell("a \"b\", c"), "\"a \"\"b\"\", c\"");
        assert_eq!(cell("=1+1"), "\"'=1+1\"");
    }
}
