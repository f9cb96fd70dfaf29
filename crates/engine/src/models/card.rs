//! card.json: a model's description by its author.

use std::path::Path;

use serde::{Deserialize, Serialize};

use super::manifest::{Model, Role};
use crate::files::{self, FileError};

#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct Card {
    pub name: String,
    pub role: Role,
    pub about: String,
    /// SPDX expression.
    pub licence: String,
    pub data: String,
    pub origin: String,
    /// The seed of its training, where known.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub seed: Option<u64>,
    #[serde(default, skip_serializing_if = "serde_json::Map::is_empty")]
    pub metrics: serde_json::Map<String, serde_json::Value>,
    #[serde(default)]
    pub sha256: std::collections::BTreeMap<String, String>,
}

impl Card {
    pub const FILE: &str = "card.json";

    /// Of a model that was pulled.
    pub fn of(model: &Model) -> Self {
        let hashes = model.files.iter().map(|file| (file.name.clone(), file.sha256.clone()));
        Self {
            name: model.name.clone(),
            role: model.role,
            about: model.about.clone(),
            licence: model.licence.clone(),
            data: model.data.clone(),
            origin: model.origin.clone(),
            seed: None,
            metrics: serde_json::Map::new(),
            sha256: hashes.collect(),
        }
    }

    /// None if there is no readable one.
    pub fn read(folder: &Path) -> Option<Self> {
        let bytes = std::fs::read(folder.join(Self::FILE)).ok()?;
        serde_json::from_slice(&bytes).ok()
    }

    pub fn write(&self, folder: &Path) -> Result<(), FileError> {
        let path = folder.join(Self::FILE);
        let text = serde_json::to_vec_pretty(self)
            .map_err(|error| FileError { path: path.clone(), source: error.into() })?;
        files::write_whole(&path, &text)
    }
}
