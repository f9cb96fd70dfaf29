//! The options of requests: of the search for clips, and of the rendered video.

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use stitch_engine::demonstrate::{Options, Preference, SourceFilter};
use stitch_engine::render::{Aspect, Captions, Overlays, RenderOptions, Soundtrack, SourceSound};
use utoipa::ToSchema;

use crate::error::{ApiError, Result};

/// How clips are chosen. Every field is optional
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize, JsonSchema, ToSchema)]
#[serde(default, deny_unknown_fields)]
pub struct SearchOptions {
    /// The maximum length of the video, in seconds
    #[schema(minimum = 1, maximum = 86400)]
    pub length_s: Option<f64>,
    /// The maximum length of one step, in seconds
    #[schema(minimum = 1, maximum = 86400)]
    pub step_length_s: Option<f64>,
    /// The maximum playback speed of a clip that is too long
    #[schema(minimum = 1, maximum = 8)]
    pub speed_up: Option<f64>,
    /// The minimum probability that a clip shows its step; below it the step is a gap
    #[schema(minimum = 0, maximum = 1)]
    pub threshold: Option<f32>,
    /// Use only videos with one of these texts in their path, title or uploader
    #[schema(max_items = 20)]
    pub only: Vec<String>,
    /// Exclude videos with one of these texts in their path, title or uploader
    #[schema(max_items = 20)]
    pub without: Vec<String>,
    /// Use only videos with one of these texts in their licence
    #[schema(max_items = 20)]
    pub licences: Vec<String>,
    /// What is preferred among clips that show a step: `length=short`, `length=long`, `sound=spoken`, `sound=silent`,
    /// `source=one`, `licence=TEXT`, `language=NAME`, each with a weight from 0 to 5 after a colon
    #[schema(max_items = 20)]
    pub prefer: Vec<String>,
}

impl SearchOptions {
    pub fn validate(&self) -> Result<()> {
        self.search_options().validate()?;
        self.prefer.iter().try_for_each(|text| text.parse::<Preference>().map(drop))?;
        let lists = [&self.only, &self.without, &self.licences, &self.prefer];
        match lists.iter().any(|list| list.len() > 20 || list.iter().any(|s| s.len() > 500)) {
            true => {
                Err(ApiError::invalid("a list of the search has at most 20 texts of 500 bytes"))
            }
            false => Ok(()),
        }
    }

    /// The engine's options.
    pub fn search_options(&self) -> Options {
        let texts =
            |list: &[String]| list.iter().filter(|s| !s.trim().is_empty()).cloned().collect();
        let ms = |seconds: f64| (seconds * 1000.0) as u64;
        let mut options = Options {
            length_ms: self.length_s.map(ms),
            threshold: self.threshold,
            sources: SourceFilter {
                allow: texts(&self.only),
                deny: texts(&self.without),
                licences: texts(&self.licences),
            },
            prefer: self.prefer.iter().filter_map(|text| text.parse().ok()).collect(),
            alternatives: 8,
            ..Options::default()
        };
        options.timeline.longest_ms = self.step_length_s.map_or(options.timeline.longest_ms, ms);
        options.timeline.fastest = self.speed_up.unwrap_or(1.0);
        options
    }
}

/// How the video is rendered. Every field is optional
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema, ToSchema)]
#[serde(default, deny_unknown_fields)]
pub struct VideoOptions {
    /// Pixels, even; without width and height, the size of most sources
    #[schema(minimum = 64, maximum = 7680)]
    pub width: Option<u32>,
    /// Pixels, even
    #[schema(minimum = 64, maximum = 4320)]
    pub height: Option<u32>,
    /// How clips of another aspect ratio are fitted: whole on a blurred copy (`blur`), whole between bars (`fit`),
    /// by their centre (`crop`), or cropped to where something moves (`follow`)
    #[schema(value_type = String, pattern = "^(blur|fit|crop|follow)$")]
    #[schemars(with = "String")]
    pub shape: Aspect,
    /// What happens to subtitles and watermarks in the pictures of the sources: they stay (`keep`), are cut off with
    /// their side of the picture (`crop`), or painted over (`cover`)
    #[schema(value_type = String, pattern = "^(keep|crop|cover)$")]
    #[schemars(with = "String")]
    pub overlays: Overlays,
    /// How step texts are shown: as a subtitle track (`soft`), drawn into the picture (`burnt`), or not (`none`)
    #[schema(value_type = String, pattern = "^(soft|burnt|none)$")]
    #[schemars(with = "String")]
    pub captions: Captions,
    /// The length of the crossfade between clips
    #[schema(minimum = 0, maximum = 3000)]
    pub crossfade_ms: u64,
    /// Whether the video starts with its title
    pub title_card: bool,
    /// Whether a gap is shown as a card with the step's text
    pub gap_cards: bool,
    /// A voice of espeak-ng that reads the steps, as `en-us`
    #[schema(pattern = "^[A-Za-z0-9_+-]{1,40}$")]
    pub voice: Option<String>,
    /// The clips' own sound: quieter while the voice speaks (`duck`), not heard (`off`), or as loud as it (`full`)
    #[schema(value_type = String, pattern = "^(duck|off|full)$")]
    #[schemars(with = "String")]
    pub source_sound: SourceSound,
    /// A file of the server's folder of music, by name, that is played under everything
    #[schema(max_length = 255)]
    pub music: Option<String>,
}

impl Default for VideoOptions {
    fn default() -> Self {
        Self {
            width: None,
            height: None,
            shape: Aspect::Blur,
            overlays: Overlays::Keep,
            captions: Captions::Soft,
            crossfade_ms: 0,
            title_card: false,
            gap_cards: true,
            voice: None,
            source_sound: SourceSound::Duck,
            music: None,
        }
    }
}

impl VideoOptions {
    pub fn validate(&self) -> Result<()> {
        if self.width.is_some() != self.height.is_some() {
            return Err(ApiError::invalid("give both width and height, or neither"));
        }
        let is_voice = |name: &String| {
            (1..=40).contains(&name.len())
                && name.bytes().all(|b| b.is_ascii_alphanumeric() || b"_+-".contains(&b))
        };
        if !self.voice.as_ref().is_none_or(is_voice) {
            return Err(ApiError::invalid("a voice is a name of espeak-ng, as en-us"));
        }
        Ok(self.render_options().validate()?)
    }

    /// The engine's options.
    pub fn render_options(&self) -> RenderOptions {
        RenderOptions {
            size: self.width.zip(self.height),
            aspect: self.shape,
            overlays: self.overlays,
            captions: self.captions,
            crossfade_ms: self.crossfade_ms,
            title_card: self.title_card,
            gap_cards: self.gap_cards,
            soundtrack: Soundtrack { source: self.source_sound, ..Soundtrack::default() },
            ..RenderOptions::default()
        }
    }
}
