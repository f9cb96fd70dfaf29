//! `stitch dataset convert`: published annotations as a set in the plain format.

use std::collections::BTreeMap;
use std::path::{Path, PathBuf};

use clap::Args;
use serde_json::json;
use stitch_core::format::count;
use stitch_engine::files::{FileError, write_whole};
use stitch_lab::suite::annotations::detours;
use stitch_lab::suite::annotations::{self, Annotations};
use stitch_lab::suite::plain::DataIssue;
use stitch_lab::suite::plain::set::{MixedLine, Set};

use crate::failure::Failure;
use crate::setup::Setup;

#[derive(Args)]
pub struct ConvertArguments {
    /// The format of the annotations
    #[arg(value_parser = annotations::KINDS)]
    from: String,
    /// The published files; for htstep and niv the folder
    #[arg(required = true)]
    paths: Vec<PathBuf>,
    /// The folder to write videos.jsonl into; put features or pictures beside it
    #[arg(long, short, value_name = "DIR")]
    output: PathBuf,
    /// Detours between these videos (JSON of COIN-Detours or VidDetours); the procedure of each is
    /// written to mixed.jsonl
    #[arg(long, value_name = "FILE")]
    detours: Option<PathBuf>,
}

/// The procedures of detours.
struct Mixed {
    procedures: Vec<MixedLine>,
    /// How many detours gave no procedure, by reason.
    lost: BTreeMap<&'static str, usize>,
    odd: Vec<DataIssue>,
}

/// Reads everything before it writes anything.
pub fn run(arguments: &ConvertArguments, setup: &Setup) -> Result<u8, Failure> {
    let found = read(arguments)?;
    let mixed = arguments.detours.as_deref().map(|path| read_detours(path, &found)).transpose()?;
    let out = &arguments.output;
    std::fs::create_dir_all(out).map_err(FileError::at(out))?;
    write_whole(&out.join(Set::FILE), found.to_plain().as_bytes())?;
    if let Some(mixed) = &mixed {
        write_whole(&out.join(Set::MIXED), detours::to_plain(&mixed.procedures).as_bytes())?;
    }
    print(arguments, &found, mixed.as_ref(), setup);
    Ok(0)
}

fn read(arguments: &ConvertArguments) -> Result<Annotations, Failure> {
    let mut all = Annotations::default();
    for path in &arguments.paths {
        let found = annotations::read(&arguments.from, path)?;
        if found.videos.is_empty() {
            let text = |odd: &DataIssue| format!("{}: {}", odd.place, odd.reason);
            let reason = found.issues.first().map_or("it names none".into(), text);
            let path = path.display();
            return Err(Failure::new(format!(
                "{path}: no video with steps can be used ({reason})"
            )));
        }
        all.videos.extend(found.videos);
        all.issues.extend(found.issues);
    }
    Ok(all)
}

fn read_detours(path: &Path, found: &Annotations) -> Result<Mixed, Failure> {
    let read = detours::read(path)?;
    let (procedures, lost) = detours::procedures(&read.detours, found);
    if procedures.is_empty() {
        return Err(Failure::new(format!(
            "{}: none of {} leads from one of these videos to another; give the annotations of the \
             videos it names",
            path.display(),
            count(read.detours.len(), "detour")
        )));
    }
    Ok(Mixed { procedures, lost, odd: read.issues })
}

fn print(arguments: &ConvertArguments, found: &Annotations, mixed: Option<&Mixed>, setup: &Setup) {
    let of_detours = mixed.iter().flat_map(|mixed| &mixed.odd);
    let odd: Vec<&DataIssue> = found.issues.iter().chain(of_detours).collect();
    let json = json!({"videos": found.videos.len(), "steps": found.steps(),
        "procedures": mixed.map(|mixed| mixed.procedures.len()),
        "odd": odd, "folder": arguments.output});
    setup.print(json, || {
        println!("{}, {}", count(found.videos.len(), "video"), count(found.steps(), "step"));
        if let Some(mixed) = mixed {
            println!("{} from detours", count(mixed.procedures.len(), "procedure"));
            for (reason, n) in &mixed.lost {
                println!("  {} without a procedure: {reason}", count(*n, "detour"));
            }
        }
        if !odd.is_empty() {
            println!("{} could not be used, or only in part", count(odd.len(), "record"));
            let listed = odd.iter().take(5);
            listed.for_each(|odd| println!("  {}: {}", odd.place, odd.reason));
        }
        println!("{}", arguments.output.join(Set::FILE).display());
    });
}
