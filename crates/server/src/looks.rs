//! What a person may ask for: of the search, and of the video's looks.

use serde::{Deserialize, Serialize};
use stitch_engine::demonstrate::{Options, SourceFilter};
use stitch_engine::render::{Aspect, Captions, RenderOptions};
use utoipa::ToSchema;

use crate::error::Problem;

/// How clips are chosen. Everything may be left out.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize, ToSchema)]
#[serde(default, deny_unknown_fields)]
pub struct Search {
    /// The longest the video may be, in seconds.
    #[schema(minimum = 1, maximum = 86400)]
    pub length_s: Option<f64>,
    /// The longest one step may be, in seconds.
    #[schema(minimum = 1, maximum = 86400)]
    pub step_length_s: Option<f64>,
    /// How much faster a clip may play to fit its length.
    #[schema(minimum = 1, maximum = 8)]
    pub speed_up: Option<f64>,
    /// How likely a clip must show its step, or the step is a gap.
    #[schema(minimum = 0, maximum = 1)]
    pub threshold: Option<f32>,
    /// Use only videos with one of these in their path, title or uploader.
    #[schema(max_items = 20)]
    pub only: Vec<String>,
    /// Use no videos with one of these in their path, title or uploader.
    #[schema(max_items = 20)]
    pub without: Vec<String>,
    /// Use only videos with one of these in their licence.
    #[schema(max_items = 20)]
    pub licences: Vec<String>,
}

impl Search {
    /// An error where a number makes no sense.
    pub fn check(&self) -> Result<(), Problem> {
        self.options().validate()?;
        let lists = [&self.only, &self.without, &self.licences];
        match lists.iter().any(|list| list.len() > 20 || list.iter().any(|s| s.len() > 500)) {
            true => Err(Problem::wrong("at most 20 short entries may be named per source option")),
            false => Ok(()),
        }
    }

    /// The same as the query takes it.
    pub fn options(&self) -> Options {
        let said =
            |list: &[String]| list.iter().filter(|s| !s.trim().is_empty()).cloned().collect();
        let ms = |seconds: f64| (seconds * 1000.0) as u64;
        let mut options = Options {
            length_ms: self.length_s.map(ms),
            threshold: self.threshold,
            sources: SourceFilter {
                allow: said(&self.only),
                deny: said(&self.without),
                licences: said(&self.licences),
            },
            alternatives: 8,
            near_misses: true,
            ..Options::default()
        };
        options.timeline.longest_ms = self.step_length_s.map_or(options.timeline.longest_ms, ms);
        options.timeline.fastest = self.speed_up.unwrap_or(1.0);
        options
    }
}

/// What happens to pictures of another shape.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize, ToSchema)]
#[serde(rename_all = "snake_case")]
pub enum Shape {
    /// The whole picture on a blurred copy of itself.
    #[default]
    Blur,
    /// The whole picture between bars.
    Fit,
    /// The middle of the picture.
    Crop,
}

/// How step texts are shown.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize, ToSchema)]
#[serde(rename_all = "snake_case")]
pub enum Words {
    /// As a track that the player switches on and off.
    #[default]
    Soft,
    /// Drawn into the picture.
    Burnt,
    /// Not at all.
    None,
}

/// How the video looks. Everything may be left out.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, ToSchema)]
#[serde(default, deny_unknown_fields)]
pub struct Looks {
    /// The width in pixels, even; left out with the height: as most sources.
    #[schema(minimum = 64, maximum = 7680)]
    pub width: Option<u32>,
    /// The height in pixels, even.
    #[schema(minimum = 64, maximum = 4320)]
    pub height: Option<u32>,
    /// What happens to pictures of another shape.
    pub shape: Shape,
    /// How step texts are shown.
    pub captions: Words,
    /// How long one clip fades into the next.
    #[schema(minimum = 0, maximum = 3000)]
    pub crossfade_ms: u64,
    /// Whether the video opens with its title.
    pub title_card: bool,
    /// Whether a step that nothing shows gets a card that says so.
    pub gap_cards: bool,
}

impl Default for Looks {
    fn default() -> Self {
        Self {
            width: None,
            height: None,
            shape: Shape::Blur,
            captions: Words::Soft,
            crossfade_ms: 0,
            title_card: false,
            gap_cards: true,
        }
    }
}

impl Looks {
    /// An error where a number makes no sense.
    pub fn check(&self) -> Result<(), Problem> {
        if self.width.is_some() != self.height.is_some() {
            return Err(Problem::wrong("give both width and height, or neither"));
        }
        Ok(self.options().validate()?)
    }

    /// The same as rendering takes it.
    pub fn options(&self) -> RenderOptions {
        RenderOptions {
            size: self.width.zip(self.height),
            aspect: match self.shape {
                Shape::Blur => Aspect::Blur,
                Shape::Fit => Aspect::Fit,
                Shape::Crop => Aspect::Crop,
            },
            captions: match self.captions {
                Words::Soft => Captions::Soft,
                Words::Burnt => Captions::Burnt,
                Words::None => Captions::None,
            },
            crossfade_ms: self.crossfade_ms,
            title_card: self.title_card,
            gap_cards: self.gap_cards,
            ..RenderOptions::default()
        }
    }
}
