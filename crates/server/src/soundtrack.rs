//! The narrator and the music that a render asks for.

use std::path::PathBuf;

use stitch_engine::demonstrate::Demonstration;
use stitch_engine::progress::Progress;
use stitch_engine::render::RenderOptions;
use stitch_engine::voice::{self, Narrator, Speaker};

use crate::error::{ApiError, Result};
use crate::options::VideoOptions;
use crate::state::State;

/// A demonstration as it is rendered: its clips fitted to the narrator, where there is one.
pub fn prepared(
    state: &State,
    mut demonstration: Demonstration,
    options: &VideoOptions,
    progress: &dyn Progress,
) -> Result<(Demonstration, RenderOptions)> {
    let mut render_options = options.render_options();
    let soundtrack = &mut render_options.soundtrack;
    soundtrack.music = music_file(state, options)?;
    if let Some(voice) = &options.voice {
        let speaker = Speaker::Espeak(voice.clone());
        let narrator =
            Narrator { speaker, listener: None, cache: state.cuts_folder().join("voice") };
        let rooms = |video| voice::room(&state.resources.library, video);
        let fade_ms = options.crossfade_ms;
        soundtrack.voice =
            voice::narrate(&mut demonstration, &narrator, &rooms, fade_ms, progress)?;
    }
    Ok((demonstration, render_options))
}

/// The files of the folder of music, by name.
pub fn music(state: &State) -> Vec<String> {
    let entries = state.settings.music.as_deref().and_then(|folder| std::fs::read_dir(folder).ok());
    let files = entries.into_iter().flatten().flatten().filter(|entry| entry.path().is_file());
    let mut names: Vec<String> =
        files.filter_map(|entry| entry.file_name().into_string().ok()).collect();
    names.retain(|name| !name.starts_with('.'));
    names.sort();
    names
}

/// The music that is asked for; an error if it is not one of the folder.
pub fn music_file(state: &State, options: &VideoOptions) -> Result<Option<PathBuf>> {
    let Some(name) = &options.music else { return Ok(None) };
    let folder = state.settings.music.as_ref().filter(|_| music(state).contains(name));
    let unknown = "there is no such music; start the server with --music FOLDER to offer some";
    folder.map(|folder| Some(folder.join(name))).ok_or_else(|| ApiError::invalid(unknown))
}
