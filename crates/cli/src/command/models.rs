//! `stitch models`: lists and downloads models.

use clap::Subcommand;
use serde_json::json;
use stitch_engine::models::{Card, ModelInfo, hub};

use crate::failure::Failure;
use crate::setup::Setup;
use crate::table;

#[derive(Subcommand)]
pub enum ModelsCommand {
    /// List the models, and whether they are installed
    List,
    /// Download models; checks their content and continues interrupted downloads
    Pull {
        /// The names; `owner/name` is any CLIP or SigLIP of the model hub
        #[arg(required = true)]
        names: Vec<String>,
    },
    /// Print the folder of a model
    Path { name: String },
}

pub fn run(command: &ModelsCommand, setup: &Setup) -> Result<u8, Failure> {
    match command {
        ModelsCommand::List => list(setup),
        ModelsCommand::Pull { names } => pull(names, setup)?,
        ModelsCommand::Path { name } => println!("{}", setup.store().path(name)?.display()),
    }
    Ok(0)
}

fn list(setup: &Setup) {
    let (mut lines, mut rows) = (Vec::new(), Vec::new());
    for ModelInfo { card: Card { name, licence, about, .. }, size, path } in setup.store().list() {
        lines.push(json!({
            "name": name, "size": size, "licence": licence, "about": about, "path": path,
        }));
        let installed = if path.is_some() { "yes" } else { "no" };
        let size = format!("{} MB", size / 1_000_000);
        let row = [&name, installed, &size, &licence, &about];
        rows.push(row.map(str::to_owned).to_vec());
    }
    let header = ["model", "installed", ">size", "licence", "purpose"];
    setup.print_all(&lines, || table::print(&header, &rows));
}

fn pull(names: &[String], setup: &Setup) -> Result<(), Failure> {
    for name in names {
        let folder = match hub::is_name(name) {
            true => setup.store().pull_from_hub(&hub::address(), name, &setup.progress)?,
            false => setup.store().pull(name, &setup.progress)?,
        };
        let json = json!({"model": name, "folder": folder});
        setup.print(json, || println!("{name} is in {}", folder.display()));
    }
    Ok(())
}
