//! Pictures are decoded and resized as the Python imaging library does it, pixel by pixel. The
//! golden files are made by recipes/golden/pictures.py.

use std::path::{Path, PathBuf};

use stitch_engine::encoder::{FrameSpec, Picture};
use stitch_engine::media::frames::{Filter, Fit};

fn folder() -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/data/pictures")
}

fn picture(name: &str) -> Picture {
    Picture::decode(&std::fs::read(folder().join(name)).unwrap()).unwrap()
}

/// The largest difference and the mean one.
fn differences(ours: &[u8], theirs: &[u8]) -> (u8, f64) {
    assert_eq!(ours.len(), theirs.len());
    let each = || ours.iter().zip(theirs).map(|(a, b)| a.abs_diff(*b));
    let sum: f64 = each().map(f64::from).sum();
    (each().max().unwrap_or(0), sum / ours.len() as f64)
}

#[test]
fn resizing_is_pillows() {
    let filters = [("bilinear", Filter::Bilinear), ("bicubic", Filter::Bicubic)];
    let sizes = [(16, 16), (61, 47), (5, 40), (38, 24), (3, 2), (1, 1)];
    for name in ["noise", "tall", "smooth"] {
        let source = picture(&format!("{name}.png"));
        for (filter_name, filter) in filters {
            for (width, height) in sizes {
                let golden = format!("{name}.{filter_name}.{width}x{height}.png");
                let ours = source.resized(width, height, filter);
                let (most, _) = differences(&ours.rgb, &picture(&golden).rgb);
                assert_eq!(most, 0, "{golden}");
            }
        }
    }
}

#[test]
fn the_crop_is_hugging_faces() {
    for name in ["noise", "tall", "smooth"] {
        for size in [16, 31] {
            let wants = FrameSpec::single((size, size), Fit::Crop, Filter::Bicubic, 1, 1);
            let golden = format!("{name}.clip.{size}.png");
            let ours = wants.prepare(&picture(&format!("{name}.png")));
            let (most, _) = differences(&ours.rgb, &picture(&golden).rgb);
            assert_eq!(most, 0, "{golden}");
        }
    }
}

/// Decoders of lossy formats may round differently; they may not shift or recolour.
#[test]
fn lossy_pictures_decode_nearly_alike() {
    for name in ["photo.jpg", "photo.webp"] {
        let (most, mean) = differences(&picture(name).rgb, &picture(&format!("{name}.png")).rgb);
        assert!(most <= 6 && mean < 0.5, "{name} differs by {most}, {mean} in the mean");
    }
}
