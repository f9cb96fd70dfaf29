//! `stitch serve`: the web interface.

use std::net::{IpAddr, Ipv4Addr, SocketAddr, TcpListener};
use std::path::PathBuf;

use clap::Args;
use serde_json::json;
use stitch_engine::encoder::mini;
use stitch_engine::files::hex;
use stitch_engine::library::Library;
use stitch_engine::media::Decode;
use stitch_server::settings::{Resources, Settings, random_bytes};
use stitch_server::state::State;

use crate::failure::Failure;
use crate::options::OptionalSpeechArguments;
use crate::setup::{ScorerArguments, Setup};
use crate::signals;

/// Start the web interface
#[derive(Args)]
pub struct ServeArguments {
    /// The port to listen on; 0 is any free port
    #[arg(long, default_value_t = 7878)]
    port: u16,
    /// The address to listen on; other machines can reach any but the default, and need the token
    #[arg(long, default_value_t = IpAddr::V4(Ipv4Addr::LOCALHOST), value_name = "ADDRESS")]
    address: IpAddr,
    /// A further host name under which browsers may reach the server; may be repeated
    #[arg(long, value_name = "NAME")]
    host_name: Vec<String>,
    /// The token that browsers on other machines need [default: a new one at every start]
    #[arg(long, env = "STITCH_TOKEN", value_name = "TOKEN", hide_env_values = true,
        value_parser = token)]
    token: Option<String>,
    /// A folder from which videos may be added; may be repeated [default: the home folder]
    #[arg(long, value_name = "DIR")]
    root: Vec<PathBuf>,
    /// The folder of a preference study, created by `stitch study new`
    #[arg(long, value_name = "DIR")]
    study: Option<PathBuf>,
    /// The encoder of a new library: mini, narration, or the folder of a model
    #[arg(long, env = "STITCH_ENCODER", value_name = "NAME")]
    encoder: Option<String>,
    #[command(flatten)]
    speech: OptionalSpeechArguments,
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
    let resources = arguments.open(setup)?;
    let token = settings.token.clone();
    let state = State::open(resources, settings)?;
    let address = SocketAddr::from((arguments.address, arguments.port));
    let listener = TcpListener::bind(address).map_err(|error| {
        Failure::new(format!("cannot listen on {address} ({error}); choose another with --port"))
    })?;
    let address = listener.local_addr()?;
    let query = token.map(|token| format!("/?token={token}")).unwrap_or_default();
    let url = format!("http://{address}{query}");
    setup.print(json!({"event": "serving", "url": url}), || {
        println!("open {url}\nCtrl-C stops the server; unfinished jobs continue at the next start");
    });
    stitch_server::serve(state, listener, signals::stop_requested)?;
    Ok(0)
}

impl ServeArguments {
    fn settings(&self) -> Result<Settings, Failure> {
        let mut settings = Settings { study: self.study.clone(), ..Settings::default() };
        let own = match self.address {
            IpAddr::V4(four) => four.to_string(),
            IpAddr::V6(six) => format!("[{six}]"),
        };
        settings.hosts.push(own);
        settings.hosts.extend(self.host_name.iter().cloned());
        settings.token = match (&self.token, self.address.is_loopback()) {
            (Some(token), _) => Some(token.clone()),
            (None, true) => None,
            (None, false) => Some(hex(&random_bytes::<20>()?)),
        };
        settings.roots = self.root.clone();
        if settings.roots.is_empty() {
            settings.roots.extend(std::env::var_os("HOME").map(PathBuf::from));
        }
        Ok(settings)
    }

    /// Opens the library and loads the models; a library that does not exist is created empty.
    fn open(&self, setup: &Setup) -> Result<Resources, Failure> {
        let sentences = setup.load_sentences()?;
        let name = setup.library_encoder().or_else(|| self.encoder.clone());
        let name = name.as_deref().unwrap_or(mini::NAME);
        let encoder = setup.load_encoder(name, &sentences, Decode::Exact)?;
        let library = Library::open_or_create(&setup.library, encoder.id())?;
        let default = ScorerArguments::default();
        let scorer = setup.load_scorer(&default, encoder.as_ref(), &sentences)?;
        Ok(Resources {
            library,
            encoder,
            sentence: sentences.encoder,
            sentence_weights: sentences.weights,
            scorer,
            speech: self.speech.load(setup)?,
            cache: setup.cache.clone(),
        })
    }
}
