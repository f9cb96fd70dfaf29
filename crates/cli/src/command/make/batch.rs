//! Several procedures in one run. Models and library are loaded once, the clips of one procedure are chosen
//! while the video of the one before is encoded, and a cut that several videos need is encoded once.

use std::collections::BTreeMap;
use std::path::{Path, PathBuf};
use std::sync::mpsc::sync_channel;
use std::time::Instant;

use serde::{Deserialize, Serialize};
use serde_json::json;
use stitch_core::format::count;
use stitch_engine::demonstrate::{Confidence, Demonstration};
use stitch_engine::files::{FileError, create_folder, write_whole};
use stitch_engine::models::sha256;
use stitch_engine::progress::{Progress, Stopped};
use stitch_engine::recipe;
use stitch_engine::render::cache::{identity, key};
use stitch_engine::voice::{Narrator, Speaker};

use super::maker::{Chosen, Maker};
use super::{MakeArguments, Request, sources};
use crate::failure::{Failure, GAPS};
use crate::setup::{ProcedureText, Setup};
use crate::signals::INTERRUPTED;
use crate::table::{self, clipped};

/// What was made of a procedure: a row of the table, and a line of JSON.
#[derive(Clone, Default, Serialize, Deserialize)]
#[serde(default)]
struct Row {
    procedure: PathBuf,
    steps: usize,
    /// Steps by confidence.
    shown: usize,
    perhaps: usize,
    gaps: usize,
    /// How many videos the clips are from.
    sources: usize,
    seconds: f64,
    files: Vec<PathBuf>,
    /// Why there is no video.
    error: Option<String>,
    /// Whether an earlier run made the same.
    unchanged: bool,
    /// The key of all that the files depend on.
    key: String,
}

/// A procedure and the video to make of it.
struct Job<'a> {
    procedure: &'a Path,
    video: PathBuf,
    progress: &'a dyn Progress,
}

/// A procedure that is ready to be written.
enum Ready {
    Unchanged(Row),
    Changed { chosen: Box<Chosen>, key: String, seconds: f64 },
}

struct Batch<'a> {
    maker: Maker<'a>,
    setup: &'a Setup,
    /// The key of what is the same for all procedures.
    settings: String,
}

pub fn run(
    arguments: &MakeArguments,
    request: Request,
    folder: &Path,
    setup: &Setup,
) -> Result<u8, Failure> {
    let jobs = jobs(&arguments.procedures, folder, &setup.progress)?;
    if jobs.len() > 1 && matches!(request.speaker, Some(Speaker::Recording(_))) {
        let message =
            "a recording speaks one procedure: make each with its own, or take another --voice";
        return Err(Failure::usage(message));
    }
    create_folder(folder)?;
    let maker = Maker::new(arguments, request, setup.load_sentences()?, setup)?;
    let batch = Batch { settings: settings(&maker)?, maker, setup };
    let (rows, codes): (Vec<Row>, Vec<u8>) =
        batch.make(&jobs, Record::load(folder)).into_iter().unzip();
    setup.print_all::<Row>(&[], || print(&rows));
    if rows.len() < jobs.len() {
        return Err(Stopped.into());
    }
    let failed: Vec<u8> = codes.into_iter().filter(|code| *code > 0).collect();
    match failed.iter().min() {
        Some(code) => Err(Failure::new(format!(
            "{} of {} not made; the table says why, and the same command tries again",
            failed.len(),
            count(jobs.len(), "video")
        ))
        .with_code(*code)),
        None if arguments.strict && rows.iter().any(|row| row.gaps > 0) => Ok(GAPS),
        None => Ok(0),
    }
}

/// Every video has the name of its procedure, so no two procedures may have the same.
fn jobs<'a>(
    procedures: &'a [PathBuf],
    folder: &Path,
    progress: &'a dyn Progress,
) -> Result<Vec<Job<'a>>, Failure> {
    let mut jobs: Vec<Job> = Vec::new();
    for procedure in procedures {
        let video = folder.join(format!("{}.mp4", name(procedure)));
        if procedure == Path::new("-") {
            let message = "standard input has no name for its video: make it alone with -o FILE";
            return Err(Failure::usage(message));
        }
        if let Some(other) = jobs.iter().find(|job| job.video == video) {
            return Err(Failure::usage(format!(
                "{} and {} would both become {}: make one of them alone with -o FILE",
                other.procedure.display(),
                procedure.display(),
                video.display()
            )));
        }
        jobs.push(Job { procedure, video, progress });
    }
    Ok(jobs)
}

/// Of a file without its extension, of an address without its query.
fn name(procedure: &Path) -> String {
    let text = procedure.to_string_lossy();
    let is_query = |letter| recipe::is_address(&text) && ['?', '#'].contains(&letter);
    let path = Path::new(text.split(is_query).next().unwrap_or_default());
    path.file_stem().unwrap_or_default().to_string_lossy().into_owned()
}

/// The key of all that makes two runs over the same text differ.
fn settings(maker: &Maker) -> Result<String, Failure> {
    let Maker { arguments, request, session, narrator, .. } = maker;
    let MakeArguments { with, handles, no_video, .. } = arguments;
    let music = request.render_options.soundtrack.music.as_deref().map(identity).transpose()?;
    let narrator = narrator.as_ref().map(Narrator::identity);
    let chat = session.chat.as_ref().map(|chat| (chat.address(), chat.model()));
    let library = std::path::absolute(session.library.folder());
    let library = library.map_err(FileError::at(session.library.folder()))?;
    let used =
        (library, session.library.generation()?, session.encoder.id(), session.scorer.name());
    let asked =
        (&request.options, &request.render_options, &request.filler, with, handles, no_video);
    let text = format!("{asked:?} {used:?} {:?}", (music, narrator, chat));
    Ok(key(&[env!("CARGO_PKG_VERSION"), &session.sentences.weights, &text]))
}

impl Batch<'_> {
    /// Makes the videos in order, one after the other; the code is 0 for a video that is there.
    fn make(&self, jobs: &[Job], mut record: Record) -> Vec<(Row, u8)> {
        let progress = &self.setup.progress;
        progress.begin("making videos", jobs.len() as u64);
        let known = record.rows.clone();
        let (sender, ready) = sync_channel(1);
        let mut made = Vec::new();
        std::thread::scope(|scope| {
            scope.spawn(move || {
                for job in jobs.iter().take_while(|job| !job.stopped()) {
                    if sender.send((job, self.choose(job, known.get(&job.video)))).is_err() {
                        return; // nobody waits for more
                    }
                }
            });
            for (job, ready) in ready {
                let (row, code) = match ready.and_then(|ready| self.write(job, ready)) {
                    Ok(row) => (record.keep(&job.video, row, progress), 0),
                    Err(failure) if failure.code() == INTERRUPTED => break,
                    Err(failure) => (Row::failed(job, &failure), failure.code()),
                };
                self.setup.print_json(&row);
                progress.advance(1);
                made.push((row, code));
            }
        });
        made
    }

    /// The clips of a procedure, unless an earlier run used the same.
    fn choose(&self, job: &Job, known: Option<&Row>) -> Result<Ready, Failure> {
        let start = Instant::now();
        let text = ProcedureText::load(job.procedure)?;
        let key = key(&[&self.settings, &text.name, &sha256(&text.bytes)]);
        let is_same = |row: &&Row| row.key == key && row.files.iter().all(|file| file.exists());
        if let Some(row) = known.filter(is_same) {
            return Ok(Ready::Unchanged(Row { unchanged: true, ..row.clone() }));
        }
        let reading = text.read(Some(&self.maker.session.sentences))?;
        reading.warnings().iter().for_each(|warning| job.warn(warning));
        let demonstration = self.maker.choose(&reading, job)?;
        self.maker.check(&demonstration)?;
        let chosen = Box::new(self.maker.narrate(demonstration, job)?);
        Ok(Ready::Changed { chosen, key, seconds: start.elapsed().as_secs_f64() })
    }

    fn write(&self, job: &Job, ready: Ready) -> Result<Row, Failure> {
        let start = Instant::now();
        match ready {
            Ready::Unchanged(row) => Ok(row),
            Ready::Changed { mut chosen, key, seconds } => {
                let files = self.maker.write(&mut chosen, &job.video, job)?;
                let seconds = seconds + start.elapsed().as_secs_f64();
                Ok(Row { files, key, seconds, ..Row::new(job, &chosen.demonstration) })
            }
        }
    }
}

/// Warnings name the procedure; its stages are not shown, because the batch counts procedures.
impl Progress for Job<'_> {
    fn warn(&self, message: &str) {
        self.progress.warn(&format!("{}: {message}", self.procedure.display()));
    }
    fn stopped(&self) -> bool {
        self.progress.stopped()
    }
}

impl Row {
    fn new(job: &Job, demonstration: &Demonstration) -> Self {
        let steps = &demonstration.steps;
        let with = |confidence| steps.iter().filter(|step| step.confidence == confidence).count();
        Self {
            procedure: job.procedure.to_owned(),
            steps: steps.len(),
            shown: with(Confidence::Shown),
            perhaps: with(Confidence::Perhaps),
            gaps: demonstration.gaps().count(),
            sources: sources(demonstration),
            ..Self::default()
        }
    }

    fn failed(job: &Job, failure: &Failure) -> Self {
        let error = Some(failure.in_one_line());
        Self { procedure: job.procedure.to_owned(), error, ..Self::default() }
    }

    /// The cells of the table.
    fn cells(&self) -> Vec<String> {
        let name = clipped(&self.procedure.to_string_lossy(), 40);
        if let Some(error) = &self.error {
            let empty = std::iter::repeat_n(String::new(), HEADER.len() - 2);
            return [name].into_iter().chain(empty).chain([format!("error: {error}")]).collect();
        }
        let numbers = [self.steps, self.shown, self.perhaps, self.gaps, self.sources];
        let seconds = match self.unchanged {
            true => "unchanged".into(),
            false => format!("{:.1}", self.seconds),
        };
        let file = self.files.first().map(|file| file.display().to_string()).unwrap_or_default();
        [name].into_iter().chain(numbers.map(|n| n.to_string())).chain([seconds, file]).collect()
    }
}

const HEADER: [&str; 8] =
    ["procedure", ">steps", ">shown", ">perhaps", ">gaps", ">sources", ">seconds", "result"];

fn print(rows: &[Row]) {
    table::print(&HEADER, &rows.iter().map(Row::cells).collect::<Vec<_>>());
}

/// The rows of a folder of videos, as lines of JSON in it.
struct Record {
    file: PathBuf,
    /// By video.
    rows: BTreeMap<PathBuf, Row>,
}

impl Record {
    /// Without what cannot be read: the videos are then made again.
    fn load(folder: &Path) -> Self {
        let file = folder.join("batch.jsonl");
        let text = std::fs::read_to_string(&file).unwrap_or_default();
        let rows = text.lines().filter_map(|line| serde_json::from_str::<Row>(line).ok());
        let rows = rows.filter_map(|row| Some((row.files.first()?.with_extension("mp4"), row)));
        Self { rows: rows.collect(), file }
    }

    /// Adds a row, which a later run with the same inputs then takes from here.
    fn keep(&mut self, video: &Path, row: Row, progress: &dyn Progress) -> Row {
        if row.unchanged {
            return row;
        }
        self.rows.insert(video.to_owned(), row.clone());
        let lines: String = self.rows.values().map(|row| format!("{}\n", json!(row))).collect();
        if let Err(error) = write_whole(&self.file, lines.as_bytes()) {
            progress.warn(&format!("{error}; the next run makes all videos again"));
        }
        row
    }
}
