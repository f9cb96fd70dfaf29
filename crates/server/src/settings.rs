//! What the person who starts the server decides, and what it works with.

use std::path::PathBuf;
use std::sync::Arc;

use rand::TryRng;
use stitch_engine::encoder::Encoder;
use stitch_engine::library::Library;
use stitch_engine::listen::Listener;
use stitch_engine::scorer::Scorer;
use stitch_engine::sentence::SentenceEncoder;

/// Models and library, opened.
pub struct Kit {
    /// Where the clips are.
    pub library: Library,
    /// F_M, the library's own.
    pub encoder: Box<dyn Encoder>,
    /// For text against text.
    pub sentence: Arc<SentenceEncoder>,
    /// The SHA-256 of its weights.
    pub sentence_weights: String,
    /// What decides between candidates.
    pub scorer: Box<dyn Scorer>,
    /// Writes down what is said in videos without subtitles.
    pub speech: Option<Listener>,
    /// What can be made again: encoded cuts, pictures.
    pub cache: PathBuf,
}

/// Who may ask for what.
#[derive(Clone, Debug)]
pub struct Settings {
    /// Names that browsers may call this server by, without port.
    pub hosts: Vec<String>,
    /// What a browser must know; none on loopback.
    pub token: Option<String>,
    /// Folders that videos may be added from, with everything in them.
    pub roots: Vec<PathBuf>,
    /// A preference study to show.
    pub study: Option<PathBuf>,
    /// What is too much.
    pub limits: Limits,
}

/// What is too much.
#[derive(Clone, Copy, Debug)]
pub struct Limits {
    /// Bytes of a request.
    pub body: usize,
    /// Bytes of a recipe page.
    pub recipe: usize,
    /// Steps of a procedure.
    pub steps: usize,
    /// Letters of one step or title.
    pub letters: usize,
    /// Jobs that wait or run.
    pub jobs: usize,
}

impl Default for Limits {
    fn default() -> Self {
        Self { body: 1 << 20, recipe: 20 << 20, steps: 200, letters: 2000, jobs: 100 }
    }
}

impl Default for Settings {
    /// For this machine alone.
    fn default() -> Self {
        Self {
            hosts: ["127.0.0.1", "localhost", "[::1]"].map(str::to_owned).to_vec(),
            token: None,
            roots: Vec::new(),
            study: None,
            limits: Limits::default(),
        }
    }
}

/// A new token, out of the system's randomness.
pub fn new_token() -> Result<String, std::io::Error> {
    let mut bytes = [0u8; 20];
    rand::rngs::SysRng.try_fill_bytes(&mut bytes).map_err(std::io::Error::other)?;
    Ok(stitch_engine::files::hex(&bytes))
}
