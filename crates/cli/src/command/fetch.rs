//! `stitch fetch`: videos from the web into a folder that `stitch index` reads.

use std::path::PathBuf;

use clap::Args;
use serde_json::json;
use stitch_core::format::count;
use stitch_engine::files::FileError;
use stitch_engine::media::yt_dlp::{Download, Downloaded};
use stitch_engine::progress::Progress;
use stitch_engine::recipe::is_address;

use crate::failure::Failure;
use crate::setup::Setup;

/// Download videos with yt-dlp, with their subtitles and licence
#[derive(Args)]
pub struct FetchArguments {
    /// Addresses of videos or playlists
    #[arg(required = true, value_name = "URL")]
    urls: Vec<String>,
    /// The folder of the videos
    #[arg(long, short, default_value = "videos", value_name = "DIR")]
    output: PathBuf,
    /// Languages of the subtitles, separated by commas
    #[arg(long, default_value = "en.*", value_name = "CODES")]
    languages: String,
    /// The maximum height of the picture, in pixels
    #[arg(long, default_value_t = 720, value_name = "PIXELS")]
    max_height: u32,
    /// The maximum size of a file, in megabytes; larger ones are left out
    #[arg(long, default_value_t = 1000, value_name = "MB")]
    max_size: u32,
    /// The maximum rate of the download, in kilobytes per second
    #[arg(long, default_value_t = 4000, value_name = "KB")]
    max_rate: u32,
}

pub fn run(arguments: &FetchArguments, setup: &Setup) -> Result<u8, Failure> {
    let FetchArguments { urls, output, languages, max_height, max_size, max_rate } = arguments;
    if let Some(wrong) = urls.iter().find(|url| !is_address(url)) {
        let message = format!("{wrong} is no address of a video: it begins with https://");
        return Err(Failure::usage(message));
    }
    std::fs::create_dir_all(output).map_err(FileError::at(output))?;
    let download = Download {
        urls,
        folder: output,
        languages,
        max_height: *max_height,
        max_size_mb: *max_size,
        max_rate_kb: *max_rate,
    };
    setup.progress.begin("downloading", 0);
    let Downloaded { videos, failure } = download.run(&setup.progress)?;
    setup.print(json!({"videos": videos, "folder": output}), || {
        videos.iter().for_each(|video| println!("  {}", video.display()));
        if !videos.is_empty() {
            println!(
                "{} there; next: stitch index '{}'",
                count(videos.len(), "video"),
                output.display()
            );
        }
    });
    match failure {
        Some(error) => Err(error.into()),
        None if videos.is_empty() => Err(Failure::new(
            "nothing was downloaded: the videos are larger than --max-size, or there is none at these \
             addresses",
        )),
        None => Ok(0),
    }
}
