//! `stitch dataset convert`: published annotations as a set in the plain format.

use std::collections::BTreeMap;
use std::path::{Path, PathBuf};

use clap::Args;
use serde_json::json;
use stitch_core::format::count;
use stitch_engine::files::{FileError, write_whole};
use stitch_lab::suite::annotations::detours::{self, DetourProcedure};
use stitch_lab::suite::annotations::{self, Annotations};
use stitch_lab::suite::plain::DataIssue;
use stitch_lab::suite::plain::set::Set;

use crate::failure::Failure;
use crate::setup::Setup;

#[derive(Args)]
pub struct ConvertArguments {
    /// Whose annotations they are
    #[arg(value_parser = annotations::KINDS)]
    from: String,
    /// The files, or for htstep and niv the folder, as they were published
    #[arg(required = true)]
    paths: Vec<PathBuf>,
    /// The folder to write videos.jsonl into; put features or pictures beside it
    #[arg(long, short, value_name = "DIR")]
    output: PathBuf,
    /// Detours between these videos (COIN-Detours' or VidDetours' JSON): a procedure of each is
    /// written into mixed.jsonl
    #[arg(long, value_name = "FILE")]
    detours: Option<PathBuf>,
    /// How many records that could not be used are listed
    #[arg(long, default_value_t = 5, value_name = "N")]
    odd: usize,
}

/// The procedures of detours, beside the list of videos.
struct Mixed {
    made: Vec<DetourProcedure>,
    /// How many detours gave none, by reason.
    lost: BTreeMap<&'static str, usize>,
    odd: Vec<DataIssue>,
}

/// Runs the command. Everything is read before anything is written.
pub fn run(arguments: &ConvertArguments, setup: &Setup) -> Result<u8, Failure> {
    let found = read(arguments)?;
    let mixed = arguments.detours.as_deref().map(|path| mixed(path, &found)).transpose()?;
    let out = &arguments.output;
    std::fs::create_dir_all(out).map_err(FileError::at(out))?;
    write_whole(&out.join(Set::FILE), found.to_plain().as_bytes())?;
    if let Some(mixed) = &mixed {
        write_whole(&out.join(Set::MIXED), detours::to_plain(&mixed.made).as_bytes())?;
    }
    print(arguments, &found, mixed.as_ref(), setup);
    Ok(0)
}

/// All files together.
fn read(arguments: &ConvertArguments) -> Result<Annotations, Failure> {
    let mut all = Annotations::default();
    for path in &arguments.paths {
        let found = annotations::read(&arguments.from, path)?;
        if found.videos.is_empty() {
            let say = |odd: &DataIssue| format!("{}: {}", odd.place, odd.reason);
            let why = found.issues.first().map_or("it names none".into(), say);
            let path = path.display();
            return Err(Failure::new(format!("{path}: no video with steps can be used ({why})")));
        }
        all.videos.extend(found.videos);
        all.issues.extend(found.issues);
    }
    Ok(all)
}

fn mixed(path: &Path, found: &Annotations) -> Result<Mixed, Failure> {
    let read = detours::read(path)?;
    let (made, lost) = detours::procedures(&read.detours, found);
    if made.is_empty() {
        let path = path.display();
        return Err(Failure::new(format!(
            "{path}: none of {} leads from one of these videos to another; give the annotations of \
             the videos it names",
            count(read.detours.len(), "detour")
        )));
    }
    Ok(Mixed { made, lost, odd: read.issues })
}

fn print(arguments: &ConvertArguments, found: &Annotations, mixed: Option<&Mixed>, setup: &Setup) {
    let of_detours = mixed.iter().flat_map(|mixed| &mixed.odd);
    let odd: Vec<&DataIssue> = found.issues.iter().chain(of_detours).collect();
    if setup.json {
        let listed: Vec<_> =
            odd.iter().map(|odd| json!({"place": odd.place, "reason": odd.reason})).collect();
        let made = mixed.map(|mixed| mixed.made.len());
        println!(
            "{}",
            json!({"videos": found.videos.len(), "steps": found.steps(), "procedures": made,
                "odd": listed, "folder": arguments.output})
        );
        return;
    }
    println!("{}, {}", count(found.videos.len(), "video"), count(found.steps(), "step"));
    if let Some(mixed) = mixed {
        println!("{} from detours", count(mixed.made.len(), "procedure"));
        mixed.lost.iter().for_each(|(reason, n)| println!("  {n} detours gave none: {reason}"));
    }
    if !odd.is_empty() {
        println!("{} could not be used, or only in part", count(odd.len(), "record"));
        odd.iter().take(arguments.odd).for_each(|odd| println!("  {}: {}", odd.place, odd.reason));
    }
    println!("{}", arguments.output.join(Set::FILE).display());
}
