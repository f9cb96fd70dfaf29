//! `stitch models`: what models there are, and getting them.

use clap::Subcommand;
use serde_json::json;
use stitch_engine::models::hub;

use crate::failure::Failure;
use crate::setup::Setup;
use crate::table;

#[derive(Subcommand)]
pub enum ModelsCommand {
    /// List the models, and which are on this machine
    List,
    /// Fetch a model; what is fetched is checked, and a broken download goes on where it was
    Pull {
        /// The models' names; `owner/name` is any CLIP, SigLIP or MobileCLIP of the model hub
        #[arg(required = true)]
        names: Vec<String>,
    },
    /// Print the folder of a model
    Path {
        /// The model's name
        name: String,
    },
}

/// Runs the command.
pub fn run(command: &ModelsCommand, setup: &Setup) -> Result<u8, Failure> {
    match command {
        ModelsCommand::List => list(setup),
        ModelsCommand::Pull { names } => pull(names, setup),
        ModelsCommand::Path { name } => {
            println!("{}", setup.store().path(name)?.display());
            Ok(0)
        }
    }
}

fn list(setup: &Setup) -> Result<u8, Failure> {
    let models = setup.store().list();
    if setup.json {
        models.iter().for_each(|model| {
            println!(
                "{}",
                json!({
            "name": model.name, "size": model.size, "licence": model.licence,
            "about": model.about, "path": model.path})
            )
        });
        return Ok(0);
    }
    let rows: Vec<_> = models
        .iter()
        .map(|model| {
            let here = if model.path.is_some() { "yes" } else { "no" };
            let size = format!("{} MB", model.size / 1_000_000);
            vec![
                model.name.to_string(),
                here.to_string(),
                size,
                model.licence.to_string(),
                model.about.to_string(),
            ]
        })
        .collect();
    let right = [false, false, true, false, false];
    table::print(&["model", "here", "size", "licence", "for"], &right, &rows);
    Ok(0)
}

fn pull(names: &[String], setup: &Setup) -> Result<u8, Failure> {
    for name in names {
        let folder = match hub::is_name(name) {
            true => setup.store().pull_from_hub(&hub::address(), name, &setup.progress)?,
            false => setup.store().pull(name, &setup.progress)?,
        };
        setup.progress.finish();
        if setup.json {
            println!("{}", json!({"model": name, "folder": folder}));
        } else {
            println!("{name} is in {}", folder.display());
        }
    }
    Ok(0)
}
