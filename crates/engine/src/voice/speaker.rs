//! Who speaks.

use std::path::{Path, PathBuf};

use crate::options::OptionError;
use crate::summarise::chat::{Chat, ChatOptions};

/// A narrator as the user names it.
pub enum Speaker {
    /// espeak-ng with one of its voices.
    Espeak(String),
    /// piper with a model.
    Piper(PathBuf),
    /// An OpenAI-compatible endpoint, and the name of its voice.
    Endpoint(Box<Chat>, String),
    /// A recording of the whole procedure.
    Recording(PathBuf),
}

impl Speaker {
    const ESPEAK_VOICE: &str = "en-us";

    /// `espeak`, `espeak:VOICE`, `piper:MODEL`, an address or a file. `endpoint` makes the options of an
    /// address, and `voice` is the name of its voice.
    pub fn parse(
        name: &str,
        voice: &str,
        endpoint: impl FnOnce(&str) -> ChatOptions,
    ) -> Result<Self, OptionError> {
        match name.split_once(':') {
            None if name == "espeak" => Ok(Self::Espeak(Self::ESPEAK_VOICE.into())),
            Some(("espeak", voice)) if !voice.is_empty() => Ok(Self::Espeak(voice.into())),
            Some(("piper", model)) if !model.is_empty() => Ok(Self::Piper(model.into())),
            Some(("http" | "https", rest)) if rest.starts_with("//") => {
                Ok(Self::Endpoint(Box::new(Chat::new(endpoint(name))), voice.into()))
            }
            _ if Path::new(name).is_file() => Ok(Self::Recording(name.into())),
            _ => Err(OptionError {
                option: "voice",
                allowed: format!(
                    "espeak, espeak:VOICE, piper:MODEL, an address or a sound file; there is no file `{name}`"
                ),
            }),
        }
    }

    /// For messages and the record; an address without its password.
    pub fn name(&self) -> String {
        match self {
            Self::Espeak(voice) => format!("espeak:{voice}"),
            Self::Piper(model) => format!("piper:{}", model.display()),
            Self::Endpoint(endpoint, voice) => format!("{} {voice}", endpoint.address()),
            Self::Recording(path) => path.display().to_string(),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn parse(name: &str) -> Result<String, String> {
        let parsed = Speaker::parse(name, "alloy", |url| ChatOptions::new(url, "tts"));
        parsed.map(|speaker| speaker.name()).map_err(|error| error.to_string())
    }

    #[test]
    fn a_voice_is_known_by_its_form() {
        let table = [
            ("espeak", "espeak:en-us"),
            ("espeak:de", "espeak:de"),
            ("piper:en_GB-alba.onnx", "piper:en_GB-alba.onnx"),
            ("http://me:secret@127.0.0.1:8880/v1", "http://127.0.0.1:8880/v1 alloy"),
            ("Cargo.toml", "Cargo.toml"),
        ];
        for (name, speaker) in table {
            assert_eq!(parse(name).as_deref(), Ok(speaker));
        }
        for wrong in ["siri", "espeak:", "piper:", "http:/x", "missing.wav", ""] {
            let said = parse(wrong).unwrap_err();
            assert!(said.contains("voice must be espeak") && said.contains(wrong), "{said}");
        }
    }
}
