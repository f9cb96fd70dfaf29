//! `stitch serve`: the web interface.

use std::net::{IpAddr, Ipv4Addr, SocketAddr, TcpListener};
use std::path::PathBuf;

use clap::Args;
use serde_json::json;
use stitch_engine::encoder::mini;
use stitch_engine::library::Library;
use stitch_engine::media::Decode;
use stitch_engine::session::check_calibration;
use stitch_server::settings::{Resources, Settings, random_token};
use stitch_server::state::State;

use crate::failure::Failure;
use crate::options::{LanguageModelArguments, OptionalSpeechArguments, ScreenTextArguments};
use crate::setup::{ScorerArguments, Setup};
use crate::signals;

/// Start the web interface
#[derive(Args)]
pub struct ServeArguments {
    /// The port to listen on; 0 is any free port
    #[arg(long, default_value_t = 7878)]
    port: u16,
    /// The address to listen on; other machines can reach any but the default
    #[arg(long, default_value_t = IpAddr::V4(Ipv4Addr::LOCALHOST), value_name = "ADDRESS")]
    address: IpAddr,
    /// A further host name under which browsers may reach the server; may be repeated
    #[arg(long, value_name = "NAME")]
    host_name: Vec<String>,
    /// The token that browsers need [default: a new one at every start]
    #[arg(long, env = "STITCH_TOKEN", value_name = "TOKEN", hide_env_values = true,
        value_parser = token)]
    token: Option<String>,
    /// Let every user of this machine in, without a token
    #[arg(long, conflicts_with = "token")]
    no_token: bool,
    /// The folder of a preference study, created by `stitch study new`
    #[arg(long, value_name = "DIR")]
    study: Option<PathBuf>,
    #[command(flatten)]
    served: ServedArguments,
}

/// The library and the models that people and agents are served with.
#[derive(Args)]
pub struct ServedArguments {
    /// A folder from which videos may be added, besides those of the library's videos, and in which
    /// agents may write files; may be repeated
    #[arg(long, value_name = "DIR")]
    root: Vec<PathBuf>,
    /// The size of rendered videos and cuts, in gigabytes, beyond which the least recently used are removed
    #[arg(long, value_name = "GB", default_value_t = 10)]
    render_budget: u32,
    /// A folder of music that may be played under videos
    #[arg(long, value_name = "DIR")]
    music: Option<PathBuf>,
    /// The encoder of a new library: mini, narration, or the folder of a model
    #[arg(long, env = "STITCH_ENCODER", value_name = "NAME")]
    encoder: Option<String>,
    #[command(flatten)]
    speech: OptionalSpeechArguments,
    #[command(flatten)]
    screen_text: ScreenTextArguments,
    #[command(flatten)]
    chat: LanguageModelArguments,
}

/// Parses a token that needs no escaping in cookies and URLs.
fn token(text: &str) -> Result<String, String> {
    let plain = text.chars().all(|c| c.is_ascii_alphanumeric());
    match plain && text.len() >= 16 {
        true => Ok(text.into()),
        false => Err("a token has at least 16 letters and digits".into()),
    }
}

pub fn run(arguments: &ServeArguments, setup: &Setup) -> Result<u8, Failure> {
    let settings = arguments.settings()?;
    let resources = arguments.served.open(setup)?;
    // Before the jobs are continued, so that a server that cannot listen leaves them alone.
    let address = SocketAddr::from((arguments.address, arguments.port));
    let listener = TcpListener::bind(address).map_err(|error| {
        Failure::new(format!("cannot listen on {address} ({error}); choose another with --port"))
    })?;
    let address = listener.local_addr()?;
    let state = State::open(resources, settings)?;
    let url = |path: &str, token: &str| match &state.settings.token {
        Some(_) => format!("http://{address}{path}?token={token}"),
        None => format!("http://{address}{path}"),
    };
    let own = url("/", state.settings.token.as_deref().unwrap_or_default());
    let study = state.study.as_ref().map(|study| url("/study", &study.token));
    setup.print(json!({"event": "serving", "url": own, "study_url": study}), || {
        println!("open {own}");
        if let Some(study) = &study {
            println!("raters open {study}");
        }
        println!("Ctrl-C stops the server; unfinished jobs continue at the next start");
    });
    if state.settings.token.is_none() {
        eprintln!(
            "WARNING: --no-token: every user and program of this machine can watch, download and change \
             everything in this library"
        );
    }
    stitch_server::serve(state, listener, signals::stop_requested)?;
    Ok(0)
}

impl ServeArguments {
    fn settings(&self) -> Result<Settings, Failure> {
        let mut settings = Settings { study: self.study.clone(), ..self.served.settings() };
        let own = match self.address {
            IpAddr::V4(four) => four.to_string(),
            IpAddr::V6(six) => format!("[{six}]"),
        };
        settings.hosts.push(own);
        settings.hosts.extend(self.host_name.iter().cloned());
        settings.token = match &self.token {
            Some(token) => Some(token.clone()),
            None if self.no_token && self.address.is_loopback() => None,
            None if self.no_token => {
                return Err(Failure::new("--no-token is only allowed on a loopback address"));
            }
            None => Some(random_token()?),
        };
        Ok(settings)
    }
}

impl ServedArguments {
    pub fn settings(&self) -> Settings {
        let render_budget = u64::from(self.render_budget) * 1_000_000_000;
        let (roots, music) = (self.root.clone(), self.music.clone());
        Settings { roots, music, render_budget, ..Settings::default() }
    }

    /// Opens the library and loads the models; a library that does not exist is created empty.
    pub fn open(&self, setup: &Setup) -> Result<Resources, Failure> {
        let sentences = setup.load_sentences()?;
        let name = setup.library_encoder().or_else(|| self.encoder.clone());
        let name = name.as_deref().unwrap_or(mini::NAME);
        let encoder = setup.load_encoder(name, &sentences, Decode::Exact)?;
        let library = Library::open_or_create(&setup.library, encoder.id())?;
        library.fix_sentence_model(&sentences.weights)?;
        check_calibration(&library, &setup.progress);
        let default = ScorerArguments::default();
        let scorer = setup.load_scorer(&default, encoder.as_ref())?;
        Ok(Resources {
            library,
            encoder,
            sentence: sentences.encoder,
            sentence_weights: sentences.weights,
            scorer,
            speech: self.speech.load(setup)?,
            screen_text: self.screen_text.load(setup)?,
            chat: self.chat.chat(setup),
            cache: setup.home.cache.clone(),
        })
    }
}
