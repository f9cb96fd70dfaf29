//! `stitch models`: lists and downloads models.

use clap::Subcommand;
use serde_json::json;
use stitch_engine::models::{Card, HubEncoder, ModelInfo, hub};

use crate::failure::Failure;
use crate::setup::Setup;
use crate::table;

#[derive(Subcommand)]
pub enum ModelsCommand {
    /// List the models, and whether they are installed
    List,
    /// Download models; checks their content and continues interrupted downloads
    Pull {
        /// The names, as in `stitch models list`; `owner/name` is any CLIP or SigLIP of the model hub,
        /// also as a pair of ONNX graphs
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
    for ModelInfo { card, size, path, encoder } in setup.store().list() {
        let Card { name, licence, about, .. } = card;
        let hub = encoder.as_ref().map(|encoder| &encoder.hub);
        let unchecked = encoder.as_ref().map(|encoder| &encoder.unchecked);
        let measured = |of: fn(&HubEncoder) -> &Option<String>| encoder.as_ref().map(of);
        let (quality, speed) = (measured(|e| &e.quality), measured(|e| &e.speed));
        lines.push(json!({
            "name": name, "size": size, "licence": licence, "about": about, "path": path,
            "hub": hub, "unchecked": unchecked, "quality": quality, "speed": speed,
        }));
        let installed = if path.is_some() { "yes" } else { "no" };
        let size = format!("{} MB", size / 1_000_000);
        let measured = |value: Option<&Option<String>>| match value {
            Some(value) => value.clone().unwrap_or_else(|| "not measured".into()),
            None => String::new(),
        };
        let (quality, speed) = (measured(quality), measured(speed));
        let row = [&name, installed, &size, &quality, &speed, &licence, &about];
        rows.push(row.map(str::to_owned).to_vec());
    }
    let header = ["model", "installed", ">size", "quality", "speed", "licence", "purpose"];
    setup.print_all(&lines, || table::print(&header, &rows));
}

fn pull(names: &[String], setup: &Setup) -> Result<(), Failure> {
    for name in names {
        let folder = match setup.store().is_of_hub(name) {
            true => setup.store().pull_from_hub(&hub::address(), name, &setup.progress)?,
            false => setup.store().pull(name, &setup.progress)?,
        };
        let json = json!({"model": name, "folder": folder});
        setup.print(json, || println!("{name} is in {}", folder.display()));
    }
    Ok(())
}
