//! `stitch eval calibrate`: how likely a clip shows a step, learnt from made-up libraries.

use std::path::PathBuf;

use clap::Args;
use serde_json::{Value, json};
use stitch_engine::library::Library;
use stitch_engine::media::Decode;
use stitch_lab::suite::calibrate::{self, Made, Reliability};
use stitch_world::truth::Truth;

use crate::failure::Failure;
use crate::setup::Setup;
use crate::table;

/// Learn how likely a clip shows a step from what the senses say of it
///
/// Asks made-up libraries everything they can be asked, judges every clip by their truth, and prints
/// the weights of the encoder that indexed them, with how well they hold for steps that were not
/// learnt from.
#[derive(Args)]
pub struct CalibrateArguments {
    /// Folders that `stitch world render` wrote
    #[arg(value_name = "DIR", required = true)]
    worlds: Vec<PathBuf>,
    /// The library each was indexed into, in the same order
    #[arg(long, value_name = "DIR", num_args = 1.., value_delimiter = ',')]
    indexed: Vec<PathBuf>,
    /// Cosines of texts and real pictures as lines of JSON, {"cosine": 0.3, "right": true}: what the
    /// encoder's eyes are worth outside the made-up library
    #[arg(long, value_name = "FILE")]
    pictures: Option<PathBuf>,
}

/// Runs the command.
pub fn run(arguments: &CalibrateArguments, setup: &Setup) -> Result<u8, Failure> {
    let indexed = match arguments.indexed.as_slice() {
        [] => std::slice::from_ref(&setup.library),
        several => several,
    };
    if indexed.len() != arguments.worlds.len() {
        return Err(Failure::new("give as many `--indexed` libraries as folders").with_code(2));
    }
    let sentences = setup.sentence()?;
    let mut worlds = Vec::new();
    for (world, index) in arguments.worlds.iter().zip(indexed) {
        let truth = Truth::read(&world.join("truth.json"))?;
        worlds.push((truth, Library::open(index)?));
    }
    let name = worlds[0].1.encoder().name.clone();
    let encoder = setup.encoder(&name, &sentences, Decode::Exact)?;
    let mut asked = calibrate::ask(&worlds, encoder.as_ref(), &sentences.encoder)?;
    if let Some(file) = &arguments.pictures {
        asked.pictures = calibrate::read_pictures(file)?;
    }
    let made = calibrate::learn(&asked)?;
    setup.progress.finish();
    print(&name, &made, setup);
    Ok(0)
}

fn print(encoder: &str, made: &Made, setup: &Setup) {
    if setup.json {
        println!("{}", json!({"encoder": encoder, "calibration": made}));
        return;
    }
    let number = |x: f64| format!("{x:.4}");
    let row = |senses: &calibrate::HeldOut| {
        let mut row = vec![senses.senses.into(), senses.pairs.to_string()];
        row.extend([senses.log_loss, senses.calibration_error, senses.best_right].map(number));
        row.extend([senses.best_calibration_error, senses.threshold].map(number));
        row.extend([senses.false_gaps, senses.true_gaps].map(number));
        row
    };
    let rows: Vec<_> = made.held_out.iter().map(row).collect();
    println!("steps that were not learnt from, in {} folds:", calibrate::FOLDS);
    let header = [
        "senses",
        "pairs",
        "log loss",
        "ECE",
        "best right",
        "ECE of best",
        "threshold",
        "false gaps",
        "true gaps",
    ];
    table::print(&header, &[false, true, true, true, true, true, true, true, true], &rows);
    println!("\nhow likely it was said that a clip shows a step, and how often it did:");
    let row = |r: &Reliability| {
        vec![
            format!("{:.1}-{:.1}", r.from, r.to),
            r.count.to_string(),
            number(r.said),
            number(r.was),
        ]
    };
    let rows: Vec<_> = made.reliability.iter().map(row).collect();
    table::print(&["likely", "pairs", "said", "was"], &[false, true, true, true], &rows);
    println!("\n{}", json!({ encoder: rounded(json!(made.calibration)) }));
}

/// Numbers as they go into the file, without the dust of single precision.
fn rounded(value: Value) -> Value {
    match value {
        Value::Object(entries) => {
            Value::Object(entries.into_iter().map(|(key, value)| (key, rounded(value))).collect())
        }
        Value::Number(number) => {
            json!(number.as_f64().map(|number| (number * 100.0).round() / 100.0))
        }
        other => other,
    }
}
