//! `stitch serve`: the page.

use std::net::{IpAddr, Ipv4Addr, TcpListener};
use std::path::PathBuf;

use clap::Args;
use serde_json::json;
use stitch_engine::encoder::mini;
use stitch_engine::library::Library;
use stitch_engine::media::Decode;
use stitch_engine::progress::Progress;
use stitch_server::settings::{Kit, Settings};
use stitch_server::state::{StartError, State};

use crate::failure::Failure;
use crate::setup::{ScorerArguments, Setup};
use crate::stop;

/// Open the page: paste a procedure, watch, swap, export
#[derive(Args)]
pub struct ServeArguments {
    /// The port to listen at; 0 takes a free one
    #[arg(long, default_value_t = 7878)]
    port: u16,
    /// The address to listen at; other machines can reach any but the default, and need the token
    #[arg(long, default_value_t = IpAddr::V4(Ipv4Addr::LOCALHOST), value_name = "ADDRESS")]
    address: IpAddr,
    /// Another name that browsers may call this machine by; may be given again
    #[arg(long, value_name = "NAME")]
    host_name: Vec<String>,
    /// What browsers on other machines must know [default: a new one at every start]
    #[arg(long, env = "STITCH_TOKEN", value_name = "TOKEN", hide_env_values = true,
        value_parser = token)]
    token: Option<String>,
    /// A folder that videos may be added from on the page; may be given again [default: the home
    /// folder]
    #[arg(long, value_name = "DIR")]
    root: Vec<PathBuf>,
    /// A preference study to show, made by `stitch study new`
    #[arg(long, value_name = "DIR")]
    study: Option<PathBuf>,
    /// What turns videos into features where the library is new: mini, narration, or a model's
    /// folder
    #[arg(long, env = "STITCH_ENCODER", value_name = "NAME")]
    encoder: Option<String>,
    /// Who writes down what is said in videos without subtitles: a speech model by name or folder,
    /// `auto` for whisper-base if it is here, or `never`
    #[arg(long, env = "STITCH_SPEECH", value_name = "MODEL", default_value = "auto")]
    speech: String,
}

/// A token that fits into a cookie and an address.
fn token(text: &str) -> Result<String, String> {
    let plain = text.chars().all(|c| c.is_ascii_alphanumeric());
    match plain && text.len() >= 16 {
        true => Ok(text.into()),
        false => Err("a token has sixteen or more letters and digits".into()),
    }
}

/// Runs the command.
pub fn run(arguments: &ServeArguments, setup: &Setup) -> Result<u8, Failure> {
    let settings = arguments.settings()?;
    setup.progress.begin("loading models", 0);
    let kit = arguments.kit(setup)?;
    let token = settings.token.clone();
    let state = State::open(kit, settings)?;
    let listener = arguments.listen()?;
    let address = listener.local_addr()?;
    setup.progress.finish();
    let query = token.map(|token| format!("/?token={token}")).unwrap_or_default();
    let url = format!("http://{address}{query}");
    match setup.json {
        true => println!("{}", json!({"event": "serving", "url": url})),
        false => {
            println!("the page is at {url}\nCtrl-C ends it; what is unfinished goes on next time")
        }
    }
    stitch_server::serve(state, listener, stop::requested)?;
    Ok(0)
}

impl ServeArguments {
    fn listen(&self) -> Result<TcpListener, Failure> {
        let address = (self.address, self.port).into();
        let failed = |source| StartError::Address { address, source };
        Ok(TcpListener::bind(address).map_err(failed)?)
    }

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
            (None, false) => Some(stitch_server::settings::new_token()?),
        };
        settings.roots = self.root.clone();
        if settings.roots.is_empty() {
            settings.roots.extend(std::env::var_os("HOME").map(PathBuf::from));
        }
        Ok(settings)
    }

    /// Models and library; a library that is not there yet is made, empty.
    fn kit(&self, setup: &Setup) -> Result<Kit, Failure> {
        let sentences = setup.sentence()?;
        let made_with = Library::open(&setup.library).ok().map(|made| made.encoder().name.clone());
        let name = made_with.or_else(|| self.encoder.clone());
        let name = name.unwrap_or_else(|| mini::NAME.into());
        let encoder = setup.encoder(&name, &sentences, Decode::Exact)?;
        let library = Library::open_or_create(&setup.library, encoder.id())?;
        let wanted = ScorerArguments::default();
        let scorer = setup.scorer(&wanted, encoder.as_ref(), &sentences)?;
        Ok(Kit {
            library,
            encoder,
            sentence: sentences.encoder,
            sentence_weights: sentences.weights,
            scorer,
            speech: setup.listener_or_none(&self.speech)?,
            cache: setup.cache.clone(),
        })
    }
}
