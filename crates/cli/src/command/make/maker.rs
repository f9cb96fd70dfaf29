//! Makes videos with models and a library that are loaded once.

use std::path::{Path, PathBuf};

use stitch_engine::demonstrate::{Asked, Demonstration, Stock, solve};
use stitch_engine::export::Files;
use stitch_engine::fill::fill;
use stitch_engine::progress::Progress;
use stitch_engine::recipe::Reading;
use stitch_engine::render::overlays::find_overlays;
use stitch_engine::voice::{self, Narrator};

use super::{ALL, MakeArguments, Request};
use crate::failure::{Failure, GAPS};
use crate::setup::{Sentences, Session, Setup};

pub struct Maker<'a> {
    pub arguments: &'a MakeArguments,
    pub request: Request,
    pub session: Session,
    stock: Stock,
    pub narrator: Option<Narrator>,
    /// The cache of encoded cuts.
    cuts: PathBuf,
}

/// The clips for a procedure, narrated where that is asked for.
pub struct Chosen {
    pub demonstration: Demonstration,
    /// The sound of each step; empty without a narrator.
    voice: Vec<Option<PathBuf>>,
}

impl<'a> Maker<'a> {
    pub fn new(
        arguments: &'a MakeArguments,
        mut request: Request,
        sentences: Sentences,
        setup: &Setup,
    ) -> Result<Self, Failure> {
        let chat = arguments.chat.chat(setup);
        let session = Session { chat, ..setup.open_with(sentences, &arguments.search.scorer)? };
        let speaker = request.speaker.take();
        let narrator =
            speaker.map(|speaker| arguments.sound.narrator(speaker, setup)).transpose()?;
        let stock = Stock::load(&session.library)?;
        Ok(Self { arguments, request, session, stock, narrator, cuts: setup.cuts_folder() })
    }

    pub fn choose(
        &self,
        reading: &Reading,
        progress: &dyn Progress,
    ) -> Result<Demonstration, Failure> {
        let with = self.session.demonstrator();
        let asked = Asked::encode(&with, &reading.procedure)?;
        let demonstration = solve(&with, &self.stock, &asked, &self.request.options)?;
        demonstration.language_note.iter().for_each(|note| progress.warn(note));
        Ok(demonstration)
    }

    /// An error if nothing shows any step and nothing fills the gaps.
    pub fn check(&self, demonstration: &Demonstration) -> Result<(), Failure> {
        let all_gaps = demonstration.gaps().count() == demonstration.steps.len();
        if all_gaps && self.request.filler.is_none() {
            let message = "no video in the library shows any of these steps; add videos with `stitch \
                index`, list them with `stitch library list`, or use the most likely clips with `--gaps \
                never`";
            return Err(Failure::new(message).with_code(GAPS));
        }
        Ok(())
    }

    pub fn narrate(
        &self,
        mut demonstration: Demonstration,
        progress: &dyn Progress,
    ) -> Result<Chosen, Failure> {
        let voice = match &self.narrator {
            Some(narrator) => {
                let rooms = |video| voice::room(&self.session.library, video);
                let fade_ms = self.request.render_options.crossfade_ms;
                voice::narrate(&mut demonstration, narrator, &rooms, fade_ms, progress)?
            }
            None => Vec::new(),
        };
        Ok(Chosen { demonstration, voice })
    }

    /// Fills gaps where that is asked for and writes the video and the other files; returns their paths.
    pub fn write(
        &self,
        Chosen { demonstration, voice }: &mut Chosen,
        output: &Path,
        progress: &dyn Progress,
    ) -> Result<Vec<PathBuf>, Failure> {
        if let Some(filler) = &self.request.filler {
            fill(demonstration, filler, &output.with_extension("generated"), progress)?;
        }
        let mut options = self.request.render_options.clone();
        options.soundtrack.voice.clone_from(voice);
        let MakeArguments { with, no_video, handles, .. } = self.arguments;
        if !no_video {
            find_overlays(demonstration, options.overlays, &self.cuts, progress)?;
        }
        let files = Files {
            demonstration,
            options: &options,
            video: !no_video,
            wanted: &|name| with.iter().any(|with| with == name || with == ALL),
            handles_ms: *handles,
            cuts: &self.cuts,
        };
        Ok(files.write(output, progress)?)
    }
}
