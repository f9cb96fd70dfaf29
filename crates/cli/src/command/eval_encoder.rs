//! `stitch eval encoder`: which picture shows which step, as an encoder sees it.

use std::path::PathBuf;

use clap::Args;
use serde_json::json;
use stitch_core::format::count;
use stitch_engine::media::Decode;
use stitch_engine::progress::Progress;
use stitch_lab::suite::encoder::{self, EncoderReport};
use stitch_lab::suite::plain::set::{Needs, Set};

use crate::failure::Failure;
use crate::setup::Setup;
use crate::table;

/// Ask an encoder which picture shows which step, on videos with steps and pictures
///
/// DIR holds videos.jsonl, a line per video:
///
///   {"video": "v1", "steps": [{"text": "chop the onion", "image": "v1/0.webp"}, ...]}
///
/// and the pictures (JPEG, PNG, WebP) by these paths, under images/, or in images.tar. `images`
/// may list several pictures of a step: their vectors are averaged into one. What cannot be used
/// is listed and left out.
///
/// What the numbers are (shares are fractions of 1; intervals are of 95 %, from 2000 bootstrap
/// samples of whole videos):
///
///   order_greedy   share of videos, of those with two steps or more, in which every text gets its own
///                  picture when the texts, first to last, take the most similar picture that is
///                  still free
///   order_optimal  the same, when texts and pictures are matched one to one so that the sum of
///                  similarities is largest; right if that is the true order and no other matching
///                  reaches the same sum
///   text_to_frame  for each text, the rank of its own picture among the pictures of all videos:
///                  r1, r5, r10 are the shares of ranks up to 1, 5, 10, medr is the median rank
///                  (the mean of the two middle ones where their number is even). Only the step's
///                  own picture is right; a picture exactly as similar stands before it
///   frame_to_text  for each step's picture, the rank of its text among all texts; a text of the
///                  same words is as right as its own, any other that ties stands before it
#[derive(Args)]
#[command(verbatim_doc_comment)]
pub struct EncoderArguments {
    /// The set: a folder with videos.jsonl and pictures, or the list itself
    #[arg(long, value_name = "DIR")]
    data: PathBuf,
    /// The encoder: a name, or the folder of a model
    #[arg(long, value_name = "NAME", default_value = "mini")]
    encoder: String,
    /// The seed of the bootstrap samples
    #[arg(long, default_value_t = 1)]
    seed: u64,
}

/// Runs the command.
pub fn run(arguments: &EncoderArguments, setup: &Setup) -> Result<u8, Failure> {
    let set = Set::open(&arguments.data, Needs::Pictures)?;
    setup.progress.begin("loading models", 0);
    let sentences = setup.sentence()?;
    let encoder = setup.encoder(&arguments.encoder, &sentences, Decode::Exact)?;
    let report = encoder::evaluate(encoder.as_ref(), set, arguments.seed, &setup.progress)?;
    setup.progress.finish();
    match setup.json {
        true => println!("{}", json!(report)),
        false => print(&report),
    }
    Ok(0)
}

/// How many complaints are printed; `--json` has them all.
const COMPLAINTS: usize = 20;

fn print(report: &EncoderReport) {
    println!(
        "encoder {}: {}, {}, {}",
        report.encoder,
        count(report.videos, "video"),
        count(report.steps, "step"),
        count(report.pictures, "picture")
    );
    table::print(&["", "value", "95 % interval"], &[false, true, true], &rows(report));
    println!(
        "orders are of {}, {} of them with another number of pictures than three; guessing gets \
         {:.3}",
        count(report.ordered_videos, "video"),
        report.not_of_three,
        report.order_chance
    );
    if !report.unread_columns.is_empty() {
        println!("columns that were not read: {}", report.unread_columns.join(", "));
    }
    if !report.issues.is_empty() {
        println!("{} left out:", count(report.issues.len(), "thing"));
    }
    for complaint in report.issues.iter().take(COMPLAINTS) {
        println!("  {}: {}", complaint.place, complaint.reason);
    }
    if report.issues.len() > COMPLAINTS {
        println!("  and {} more; --json lists all", report.issues.len() - COMPLAINTS);
    }
}

fn rows(report: &EncoderReport) -> Vec<Vec<String>> {
    let share = |what: &str, value: f64, [low, high]: [f64; 2]| {
        vec![what.into(), format!("{value:.3}"), format!("{low:.3}-{high:.3}")]
    };
    let (values, ends) = (&report.values, &report.intervals);
    let mut rows = vec![
        share("order, text after text (order_greedy)", values.order_greedy, ends.order_greedy),
        share("order, all at once (order_optimal)", values.order_optimal, ends.order_optimal),
    ];
    let sides = [
        ("text to picture", &values.text_to_frame, &ends.text_to_frame),
        ("picture to text", &values.frame_to_text, &ends.frame_to_text),
    ];
    for (what, found, ends) in sides {
        rows.push(share(&format!("{what}, first"), found.r1, ends.r1));
        rows.push(share(&format!("{what}, within 5"), found.r5, ends.r5));
        rows.push(share(&format!("{what}, within 10"), found.r10, ends.r10));
        let [low, high] = ends.medr;
        let interval = format!("{low:.1}-{high:.1}");
        rows.push(vec![format!("{what}, median rank"), format!("{:.1}", found.medr), interval]);
    }
    rows
}
