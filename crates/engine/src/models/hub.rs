//! Any model of the hub by `owner/name`: the hub's own listing says which files there are, how long
//! they are, and the SHA-256 of the large ones.

use serde::Deserialize;

use super::fetch::{self, Pull};
use super::manifest::{File, Mirror, Model, Role};
use super::{ModelError, Result};
use crate::files::{self, FileError};

/// Where the hub is, unless HF_ENDPOINT says otherwise.
const HUB: &str = "https://huggingface.co";

/// Limit of the listing and of files without a hash.
const MAX_BYTES: u64 = 64 << 20;

const WEIGHTS: &str = "model.safetensors";

const WANTED: [&str; 10] = [
    "config.json",
    "sentence_bert_config.json",
    "1_Pooling/config.json",
    "2_Dense/config.json",
    "preprocessor_config.json",
    "processor_config.json",
    "tokenizer.json",
    "tokenizer_config.json",
    "encoder.toml",
    WEIGHTS,
];

#[derive(Deserialize)]
struct Listing {
    sha: String,
    #[serde(default)]
    siblings: Vec<Sibling>,
    #[serde(default, rename = "cardData")]
    card: serde_json::Value,
}

#[derive(Deserialize)]
struct Sibling {
    rfilename: String,
    size: Option<u64>,
    lfs: Option<Large>,
}

#[derive(Deserialize)]
struct Large {
    sha256: String,
    size: u64,
}

/// Whether a name is one of the hub: `owner/name`.
pub fn is_name(name: &str) -> bool {
    let plain = |part: &str| {
        let usual = |c: char| c.is_ascii_alphanumeric() || matches!(c, '-' | '_' | '.');
        !part.is_empty() && !part.starts_with('.') && part.chars().all(usual)
    };
    name.split_once('/').is_some_and(|(owner, name)| plain(owner) && plain(name))
}

pub fn folder_name(name: &str) -> String {
    name.replace('/', "--")
}

/// The address of the hub: `HF_ENDPOINT`, or the usual one.
pub fn address() -> String {
    let set = std::env::var("HF_ENDPOINT").ok().filter(|address| !address.trim().is_empty());
    set.map_or_else(|| HUB.into(), |address| address.trim_end_matches('/').to_owned())
}

pub struct Listed {
    pub model: Model,
    /// The address of its files, in the revision of the listing.
    pub base: String,
    /// Names and sizes of the files whose hashes the hub does not list.
    pub small: Vec<(String, u64)>,
}

/// Where exporters put a pair of ONNX graphs.
const ONNX: &str = "onnx";

/// What is taken from the folder of a pair of graphs.
const PAIR: [&str; 6] = [
    "vision_model.onnx",
    "vision_model.onnx_data",
    "text_model.onnx",
    "text_model.onnx_data",
    "config.json",
    "preprocessor_config.json",
];

/// The files of a repository that are taken: of graphs those of the folder `part`; without one those at the
/// top and in `onnx`, but no graphs beside weights that are read here.
fn is_wanted(file: &str, part: Option<&str>, has_weights: bool) -> bool {
    match file.rsplit_once('/') {
        _ if file == WEIGHTS => part.is_none(),
        _ if WANTED.contains(&file) => true,
        Some((folder, name)) => {
            let is_pair = part.map_or(folder == ONNX && !has_weights, |part| folder == part);
            is_pair && PAIR.contains(&name)
        }
        None => {
            let graph = [".onnx", ".onnx.data", ".onnx_data"];
            part.is_none() && graph.iter().any(|ending| file.ends_with(ending))
        }
    }
}

/// What the hub has of a model, or of one folder of graphs of it.
pub fn look_up(hub: &str, name: &str, part: Option<&str>) -> Result<Listed> {
    let url = format!("{hub}/api/models/{name}/revision/main?blobs=true");
    let bytes = fetch::small(&url, None, MAX_BYTES)?;
    let refused = |reason: String| ModelError::Refused { url: url.clone(), reason };
    let listing: Listing =
        serde_json::from_slice(&bytes).map_err(|error| refused(error.to_string()))?;
    let has_weights = listing.siblings.iter().any(|file| file.rfilename == WEIGHTS);
    let wanted = |file: &&Sibling| is_wanted(&file.rfilename, part, has_weights);
    let (mut files, mut small) = (Vec::new(), Vec::new());
    for file in listing.siblings.iter().filter(wanted) {
        match (&file.lfs, file.size) {
            (Some(large), _) => files.push(File {
                name: file.rfilename.clone(),
                size: large.size,
                sha256: large.sha256.to_lowercase(),
            }),
            (None, Some(size)) => small.push((file.rfilename.clone(), size)),
            (None, None) => {
                return Err(refused(format!("it does not say how long {} is", file.rfilename)));
            }
        }
    }
    let is_weights = |name: &str| name.ends_with(".safetensors") || name.ends_with(".onnx");
    if !files.iter().any(|file| is_weights(&file.name)) {
        let reason = "it has no model.safetensors and no ONNX graphs; pickles are never opened, and \
                      MobileCLIP is used as an ONNX export (`stitch models list` names one)";
        return Err(refused(reason.into()));
    }
    let licence = listing.card.get("license").and_then(|licence| licence.as_str());
    let base = format!("{hub}/{name}/resolve/{}", listing.sha);
    let model = Model {
        name: folder_name(name),
        role: Role::Encoder,
        licence: licence.unwrap_or("see its page").into(),
        about: "an encoder from the model hub".into(),
        data: "see its page".into(),
        origin: format!("{hub}/{name}/tree/{}", listing.sha),
        files,
        sources: vec![Mirror::Files { place: "the model hub".into(), base: base.clone() }],
    };
    Ok(Listed { model, base, small })
}

impl Pull<'_> {
    /// Downloads the files without a known hash; only their sizes can be checked.
    pub fn fetch_small(&self, base: &str, small: &[(String, u64)]) -> Result<Vec<File>> {
        let mut files = Vec::new();
        for (name, size) in small {
            self.progress.check()?;
            let bytes = fetch::small(&format!("{base}/{name}"), Some(*size), MAX_BYTES)?;
            let path = self.staged.join(name);
            let folder = path.parent().unwrap_or(self.staged);
            std::fs::create_dir_all(folder).map_err(FileError::at(folder))?;
            files::write_whole(&path, &bytes)?;
            files.push(File { name: name.clone(), size: *size, sha256: fetch::sha256(&bytes) });
        }
        Ok(files)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn names_of_the_hub_are_told_from_paths() {
        for name in ["openai/clip-vit-base-patch32", "apple/MobileCLIP-S1-OpenCLIP"] {
            assert!(is_name(name), "{name}");
        }
        for name in ["mini", "/tmp/model", "./model", "../a", "a/b/c", "a/", "a/..", "a b/c"] {
            assert!(!is_name(name), "{name}");
        }
        assert_eq!(folder_name("a/b"), "a--b");
    }

    #[test]
    fn graphs_are_taken_from_the_folders_of_exporters() {
        let cases = [
            ("onnx/vision_model.onnx", None, false, true),
            ("onnx/text_model.onnx_data", None, false, true),
            ("onnx/vision_model.onnx", None, true, false),
            ("onnx/vision_model_fp16.onnx", None, false, false),
            ("onnx/s0/text_model.onnx", None, false, false),
            ("onnx/s0/text_model.onnx", Some("onnx/s0"), false, true),
            ("onnx/s2/text_model.onnx", Some("onnx/s0"), false, false),
            ("onnx/text_model.onnx", Some("onnx/s0"), false, false),
            ("tokenizer.json", Some("onnx/s0"), false, true),
            ("visual.onnx.data", None, false, true),
            ("model.safetensors", None, true, true),
            ("pytorch_model.bin", None, false, false),
            ("onnx/../../etc", Some("onnx/s0"), false, false),
        ];
        for (file, part, has_weights, expected) in cases {
            assert_eq!(is_wanted(file, part, has_weights), expected, "{file} {part:?}");
        }
    }
}
