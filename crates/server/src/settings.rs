//! The server's configuration, and the models and library that it works with.

use std::path::PathBuf;
use std::sync::Arc;
use std::time::Duration;

use rand::TryRng;
use stitch_engine::encoder::Encoder;
use stitch_engine::library::Library;
use stitch_engine::listen::Listener;
use stitch_engine::scorer::Scorer;
use stitch_engine::screen_text::ScreenTextReader;
use stitch_engine::sentence::SentenceEncoder;
use stitch_engine::summarise::chat::Chat;

/// The open library and the loaded models.
pub struct Resources {
    pub library: Library,
    /// The encoder that the library was made with.
    pub encoder: Box<dyn Encoder>,
    pub sentence: Arc<SentenceEncoder>,
    /// SHA-256.
    pub sentence_weights: String,
    pub scorer: Box<dyn Scorer>,
    /// Transcribes videos without subtitles.
    pub speech: Option<Listener>,
    pub screen_text: Option<ScreenTextReader>,
    /// Translates procedures in languages that the sentence model does not know.
    pub chat: Option<Chat>,
    /// Holds files that can be recomputed: encoded cuts and thumbnails.
    pub cache: PathBuf,
}

#[derive(Clone, Debug)]
pub struct Settings {
    /// Accepted Host headers, without port.
    pub hosts: Vec<String>,
    /// Required of every request, if set; raters need the study's token instead.
    pub token: Option<String>,
    /// Videos may be added from these folders, from those of the library's videos, and everything below them.
    pub roots: Vec<PathBuf>,
    /// A folder of music that may be played under videos.
    pub music: Option<PathBuf>,
    /// The folder of a preference study.
    pub study: Option<PathBuf>,
    /// Jobs that may be queued or running.
    pub max_jobs: usize,
    /// Bytes of rendered videos, cuts and thumbnails; beyond, the least recently used are removed.
    pub render_budget: u64,
    /// Connections at the same time.
    pub max_connections: usize,
    /// How long a client may take to send a request's headers, and each part of its body.
    pub read_timeout: Duration,
}

impl Default for Settings {
    /// Accepts requests from this machine only.
    fn default() -> Self {
        Self {
            hosts: ["127.0.0.1", "localhost", "[::1]"].map(str::to_owned).to_vec(),
            token: None,
            roots: Vec::new(),
            music: None,
            study: None,
            max_jobs: 100,
            render_budget: 10_000_000_000,
            max_connections: 1024,
            read_timeout: Duration::from_secs(30),
        }
    }
}

/// A new token or key: 40 hexadecimal digits.
pub fn random_token() -> Result<String, std::io::Error> {
    Ok(stitch_engine::files::hex(&random_bytes::<20>()?))
}

/// `N` random bytes of the operating system.
pub fn random_bytes<const N: usize>() -> Result<[u8; N], std::io::Error> {
    let mut bytes = [0; N];
    rand::rngs::SysRng.try_fill_bytes(&mut bytes).map_err(std::io::Error::other)?;
    Ok(bytes)
}
