//! What every request sees: models, library, database, and what is kept in memory of them.

use std::path::{Path, PathBuf};
use std::sync::{Arc, Mutex, PoisonError, RwLock};

use stitch_engine::demonstrate::{Asked, Demonstrator, Stock};
use stitch_engine::files::FileError;
use stitch_engine::library::LibraryError;
use tokio::sync::Semaphore;

use crate::error::{NO_CLIPS, Problem};
use crate::jobs::Jobs;
use crate::settings::{Kit, Settings};
use crate::store::Store;
use crate::study::{Study, StudyError};

/// The server's state.
pub struct State {
    /// Models and library.
    pub kit: Kit,
    /// Who may ask for what.
    pub settings: Settings,
    /// The page's own database.
    pub store: Store,
    /// Long work.
    pub jobs: Jobs,
    /// The preference study, where one is shown.
    pub study: Option<Study>,
    /// Pictures that may be taken out of videos at once.
    pub pictures: Semaphore,
    folder: PathBuf,
    stock: RwLock<Option<Arc<Stock>>>,
    asked: Mutex<Vec<(i64, Arc<Asked>)>>,
}

/// The state, as handlers hold it.
pub type Shared = Arc<State>;

/// Why the server does not start.
#[derive(Debug, thiserror::Error)]
pub enum StartError {
    /// Its folder cannot be used.
    #[error(transparent)]
    File(#[from] FileError),
    /// Its database cannot be used.
    #[error("{} cannot be used ({source}); move it away to begin anew", file.display())]
    Database {
        /// The database.
        file: PathBuf,
        /// What SQLite says.
        source: rusqlite::Error,
    },
    /// The study cannot be read.
    #[error(transparent)]
    Study(#[from] StudyError),
    /// The address cannot be listened at.
    #[error("{address} cannot be listened at ({source}); choose another with --port")]
    Address {
        /// The address.
        address: std::net::SocketAddr,
        /// What the system says.
        source: std::io::Error,
    },
}

/// How many procedures stay encoded.
const MOST_ASKED: usize = 64;

impl State {
    /// Opens what is beside the library, and puts unfinished jobs back into the queue.
    pub fn open(kit: Kit, settings: Settings) -> Result<Shared, StartError> {
        let folder = kit.library.folder().join("page");
        let renders = folder.join("renders");
        std::fs::create_dir_all(&renders).map_err(FileError::at(&renders))?;
        let file = folder.join("page.db");
        let failed = |source| StartError::Database { file: file.clone(), source };
        let store = Store::open(&file).map_err(failed)?;
        let study = settings.study.as_deref().map(Study::open).transpose()?;
        let state = Self {
            kit,
            settings,
            store,
            jobs: Jobs::default(),
            study,
            pictures: Semaphore::new(2),
            folder,
            stock: RwLock::new(None),
            asked: Mutex::default(),
        };
        state.jobs.recover(&state.store).map_err(failed)?;
        Ok(Arc::new(state))
    }

    /// Where a rendered video is kept.
    pub fn render_file(&self, job: i64) -> PathBuf {
        self.folder.join("renders").join(format!("{job}.mp4"))
    }

    /// Where encoded cuts and pictures are kept.
    pub fn cuts(&self) -> PathBuf {
        self.kit.cache.join("cuts")
    }

    /// What queries work with.
    pub fn demonstrator(&self) -> Demonstrator<'_> {
        Demonstrator {
            library: &self.kit.library,
            encoder: self.kit.encoder.as_ref(),
            sentence: &self.kit.sentence,
            sentence_weights: &self.kit.sentence_weights,
            scorer: self.kit.scorer.as_ref(),
        }
    }

    /// P and its videos, read once; none while the library has no clip.
    pub fn stock(&self) -> Result<Option<Arc<Stock>>, Problem> {
        let held = self.stock.read().unwrap_or_else(PoisonError::into_inner).clone();
        match held {
            Some(stock) => Ok(Some(stock)),
            None => self.load_stock(),
        }
    }

    /// P and its videos, or what to do to get any.
    pub fn stock_or_say(&self) -> Result<Arc<Stock>, Problem> {
        self.stock()?.ok_or_else(|| Problem::conflict(NO_CLIPS))
    }

    /// Reads the pool anew if another program has added to the library.
    pub fn refresh_stock(&self) -> Result<(), Problem> {
        let clips = self.kit.library.stats()?.clips;
        let known = self.stock()?.map_or(0, |stock| stock.pool.len() as u64);
        if clips != known {
            self.load_stock()?;
        }
        Ok(())
    }

    /// Reads the pool anew.
    pub fn load_stock(&self) -> Result<Option<Arc<Stock>>, Problem> {
        let loaded = match Stock::load(&self.kit.library) {
            Ok(stock) => Some(Arc::new(stock)),
            Err(LibraryError::Empty { .. }) => None,
            Err(error) => return Err(error.into()),
        };
        *self.stock.write().unwrap_or_else(PoisonError::into_inner) = loaded.clone();
        Ok(loaded)
    }

    /// A demonstration's procedure, encoded; what was encoded lately is remembered.
    pub fn asked(
        &self,
        id: i64,
        encode: impl FnOnce() -> Result<Asked, Problem>,
    ) -> Result<Arc<Asked>, Problem> {
        let known = |all: &[(i64, Arc<Asked>)]| {
            all.iter().find(|(of, _)| *of == id).map(|(_, asked)| asked.clone())
        };
        let lock = || self.asked.lock().unwrap_or_else(PoisonError::into_inner);
        if let Some(asked) = known(&lock()) {
            return Ok(asked);
        }
        let asked = Arc::new(encode()?);
        let mut all = lock();
        if all.len() == MOST_ASKED {
            all.remove(0);
        }
        all.push((id, asked.clone()));
        Ok(asked)
    }

    /// A folder named by a request: there, and inside a folder that videos may be added from.
    pub fn admitted(&self, folder: &str) -> Result<PathBuf, Problem> {
        let outside = || {
            Problem::wrong(
                "videos may not be added from there; start the server with --root FOLDER to allow it",
            )
        };
        if !Path::new(folder).is_absolute() || folder.contains('\0') {
            return Err(Problem::wrong("name the folder by its whole path, from / on"));
        }
        // Links are followed before the comparison, so that none leads out.
        let found = Path::new(folder).canonicalize().map_err(|error| {
            tracing::debug!(%error, folder, "not admitted");
            outside()
        })?;
        let inside = |root: &PathBuf| root.canonicalize().is_ok_and(|root| found.starts_with(root));
        match self.settings.roots.iter().any(inside) {
            false => Err(outside()),
            true if !found.is_dir() => Err(Problem::wrong("that is no folder")),
            true => Ok(found),
        }
    }
}
