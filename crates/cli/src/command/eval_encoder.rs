//! `stitch eval encoder`: how well an encoder matches step texts with pictures.

use std::path::PathBuf;

use clap::Args;
use stitch_core::format::count;
use stitch_engine::media::Decode;
use stitch_lab::suite::encoder::{self, EncoderReport};
use stitch_lab::suite::plain::set::{Needs, Set};

use super::eval_data::print_complaints;
use crate::failure::Failure;
use crate::setup::Setup;
use crate::table::{estimate_row, print_estimate_rows};

/// Evaluate how well an encoder matches step texts with pictures
///
/// DIR holds videos.jsonl, one line per video:
///
///   {"video": "v1", "steps": [{"text": "chop the onion", "image": "v1/0.webp"}, ...]}
///
/// and the pictures (JPEG, PNG, WebP) under these paths, under images/, or in images.tar. `images` may list
/// several pictures of a step, whose embeddings are averaged. Unusable records are listed and left out.
///
/// Metrics (shares are fractions of 1; intervals are 95 % confidence intervals from 2000 bootstrap samples of
/// whole videos):
///
///   order_greedy   share of videos with two or more steps in which every text gets its own picture when
///                  each text, first to last, takes the most similar picture that is still free
///   order_optimal  the same for the one-to-one matching with the largest sum of similarities; correct if it
///                  is the true order and no other matching reaches the same sum
///   text_to_frame  the rank of each text's own picture among the pictures of all videos: r1, r5 and r10 are
///                  the shares of ranks up to 1, 5 and 10, medr is the median rank (the mean of the two
///                  middle ranks if their number is even). Equally similar pictures rank before it
///   frame_to_text  the rank of each picture's own text among all texts; texts with the same words count as
///                  its own, other equally similar texts rank before it
#[derive(Args)]
#[command(verbatim_doc_comment)]
pub struct EncoderArguments {
    /// The set: a folder with videos.jsonl and pictures, or the list itself
    #[arg(long, value_name = "DIR")]
    data: PathBuf,
    /// The encoder, by name or folder
    #[arg(long, value_name = "NAME", default_value = "mini")]
    encoder: String,
    /// The seed of the bootstrap samples
    #[arg(long, default_value_t = 1)]
    seed: u64,
}

pub fn run(arguments: &EncoderArguments, setup: &Setup) -> Result<u8, Failure> {
    let set = Set::open(&arguments.data, Needs::Pictures)?;
    let sentences = setup.load_sentences()?;
    let encoder = setup.load_encoder(&arguments.encoder, &sentences, Decode::Exact)?;
    let report = encoder::evaluate(encoder.as_ref(), set, arguments.seed, &setup.progress)?;
    setup.print(&report, || print(&report));
    Ok(0)
}

fn print(report: &EncoderReport) {
    println!(
        "encoder {}: {}, {}, {}",
        report.encoder,
        count(report.videos, "video"),
        count(report.steps, "step"),
        count(report.pictures, "picture")
    );
    print_estimate_rows(&rows(report));
    println!(
        "orders are of {}, {} of them without exactly three pictures; random guessing gets {:.3}",
        count(report.ordered_videos, "video"),
        report.not_of_three,
        report.order_chance
    );
    print_complaints(&report.unread_columns, &report.issues);
}

fn rows(report: &EncoderReport) -> Vec<Vec<String>> {
    let (values, ends) = (&report.values, &report.intervals);
    let mut rows = vec![
        estimate_row("order, greedy (order_greedy)", values.order_greedy, ends.order_greedy),
        estimate_row("order, optimal (order_optimal)", values.order_optimal, ends.order_optimal),
    ];
    let sides = [
        ("text to picture", &values.text_to_frame, &ends.text_to_frame),
        ("picture to text", &values.frame_to_text, &ends.frame_to_text),
    ];
    for (what, found, ends) in sides {
        rows.push(estimate_row(&format!("{what}, R@1"), found.r1, ends.r1));
        rows.push(estimate_row(&format!("{what}, R@5"), found.r5, ends.r5));
        rows.push(estimate_row(&format!("{what}, R@10"), found.r10, ends.r10));
        let [low, high] = ends.medr;
        let interval = format!("{low:.1}-{high:.1}");
        rows.push(vec![format!("{what}, median rank"), format!("{:.1}", found.medr), interval]);
    }
    rows
}
