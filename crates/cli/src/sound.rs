//! The options of a narrator and of music.

use std::path::PathBuf;

use clap::Args;
use stitch_engine::progress::Progress;
use stitch_engine::render::{Soundtrack, SourceSound};
use stitch_engine::summarise::chat::ChatOptions;
use stitch_engine::voice::{Narrator, Speaker};

use crate::failure::Failure;
use crate::options::{Choices, OptionalSpeechArguments, choice};
use crate::setup::Setup;

/// What is heard in the video.
#[derive(Args)]
#[command(next_help_heading = "Sound")]
pub struct SoundArguments {
    /// A narrator who reads the steps over the clips: `espeak`, `espeak:VOICE`, `piper:MODEL`, the address
    /// of an OpenAI-compatible endpoint such as http://127.0.0.1:8880/v1, or your own recording
    #[arg(long, value_name = "VOICE")]
    voice: Option<String>,
    /// The name of the voice at that endpoint
    #[arg(long, env = "STITCH_VOICE_NAME", value_name = "NAME", default_value = "alloy")]
    voice_name: String,
    /// The name of the model at that endpoint
    #[arg(long, env = "STITCH_VOICE_MODEL", value_name = "NAME", default_value = "tts-1")]
    voice_model: String,
    /// The API key, if that endpoint needs one
    #[arg(long, env = KEY_VARIABLE, value_name = "KEY", hide_env_values = true)]
    voice_key: Option<String>,
    /// Music under everything, faded in and out, quieter while somebody speaks
    #[arg(long, value_name = "FILE")]
    music: Option<PathBuf>,
    /// The clips' own sound
    #[arg(long, value_parser = choice(&SOURCE_SOUNDS), default_value = "duck")]
    source_sound: SourceSound,
    #[command(flatten)]
    speech: OptionalSpeechArguments,
}

const KEY_VARIABLE: &str = "STITCH_VOICE_KEY";

const SOURCE_SOUNDS: Choices<SourceSound, 3> = [
    ("duck", "Quieter while the narrator speaks", SourceSound::Duck),
    ("off", "Not at all", SourceSound::Off),
    ("full", "As loud as the narrator", SourceSound::Full),
];

impl SoundArguments {
    /// Without the narrator, who has not spoken yet.
    pub fn soundtrack(&self) -> Soundtrack {
        let (source, music) = (self.source_sound, self.music.clone());
        Soundtrack { source, music, ..Soundtrack::default() }
    }

    pub fn speaker(&self) -> Result<Option<Speaker>, Failure> {
        let endpoint = |url: &str| {
            let mut options = ChatOptions::new(url, &self.voice_model);
            options.key = self.voice_key.clone();
            options.key_variable = KEY_VARIABLE;
            options
        };
        let speaker = |voice: &String| Speaker::parse(voice, &self.voice_name, endpoint);
        let speaker = self.voice.as_ref().map(speaker).transpose();
        speaker.map_err(|error| Failure::usage(error.to_string()))
    }

    /// The speaker with the speech model, which espeak-ng does without.
    pub fn narrator(&self, speaker: Speaker, setup: &Setup) -> Result<Narrator, Failure> {
        let is_espeak = matches!(speaker, Speaker::Espeak(_));
        let listener = if is_espeak { None } else { self.speech.load(setup)? };
        if listener.is_none() && !is_espeak {
            setup.progress.warn(
                "without the speech model captions follow this voice only roughly; get it with `stitch \
                 models pull whisper-base`",
            );
        }
        Ok(Narrator { speaker, listener, cache: setup.cuts_folder().join("voice") })
    }
}
