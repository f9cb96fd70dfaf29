//! The state that all requests share: models, library, database and caches.

use std::collections::BTreeSet;
use std::path::{Path, PathBuf};
use std::sync::{Arc, Mutex, PoisonError, RwLock, TryLockError};

use stitch_engine::demonstrate::{Asked, Demonstrator, Stock};
use stitch_engine::files::create_folder;
use stitch_engine::library::{FileLock, LibraryError, LockError};
use stitch_engine::render::cache::evict;
use tokio::sync::Semaphore;

use crate::database::{Database, open_page};
use crate::error::{ApiError, NO_CLIPS, Result, ServerError};
use crate::jobs::{JobQueue, lock};
use crate::settings::{Resources, Settings};
use crate::study::Study;

pub struct State {
    pub resources: Resources,
    pub settings: Settings,
    /// page.db, beside the library.
    pub database: Arc<Database>,
    pub jobs: JobQueue,
    pub study: Option<Study>,
    /// Limits how many requests run ffmpeg at once.
    pub ffmpeg: Arc<Semaphore>,
    folder: PathBuf,
    _lock: FileLock,
    /// The library's generation and what it held then; none until it has a clip.
    pool: RwLock<(i64, Option<Arc<Stock>>)>,
    /// Held by the one request that loads the pool.
    loading: Mutex<()>,
    /// Encoded procedures by demonstration, the oldest first.
    encoded: Mutex<Vec<(i64, Arc<Asked>)>>,
}

pub type SharedState = Arc<State>;

/// Chosen by hand.
const MAX_ENCODED_PROCEDURES: usize = 64;
const MAX_FFMPEG_REQUESTS: usize = 2;

impl State {
    /// Opens page.db and the study, and queues unfinished jobs again. One server at a time: a second one
    /// would continue the jobs of the first.
    pub fn open(resources: Resources, settings: Settings) -> Result<SharedState, ServerError> {
        let folder = resources.library.folder().join("page");
        let renders = folder.join("renders");
        create_folder(&renders)?;
        let lock = FileLock::take(&folder.join("serve.lock")).map_err(|error| match error {
            LockError::Held { pid } => ServerError::Served { folder: folder.clone(), pid },
            LockError::File(error) => error.into(),
        })?;
        let file = folder.join("page.db");
        let database = Arc::new(open_page(&file)?);
        let jobs = JobQueue::open(database.clone(), settings.max_jobs)
            .map_err(|source| ServerError::Database { file, source })?;
        let study = settings.study.as_deref().map(Study::open).transpose()?;
        let state = Arc::new(Self {
            resources,
            settings,
            database,
            jobs,
            study,
            ffmpeg: Arc::new(Semaphore::new(MAX_FFMPEG_REQUESTS)),
            folder,
            _lock: lock,
            pool: RwLock::new((-1, None)), // no library has this generation
            loading: Mutex::default(),
            encoded: Mutex::default(),
        });
        state.keep_render_budget();
        Ok(state)
    }

    fn renders_folder(&self) -> PathBuf {
        self.folder.join("renders")
    }

    pub fn render_file(&self, job: i64) -> PathBuf {
        self.renders_folder().join(format!("{job}.mp4"))
    }

    /// The cache of encoded cuts and thumbnails.
    pub fn cuts_folder(&self) -> PathBuf {
        self.resources.cache.join("cuts")
    }

    /// Removes the least recently used rendered videos, cuts and thumbnails beyond the budget.
    pub fn keep_render_budget(&self) {
        let renders = self.renders_folder();
        for file in evict(&self.cuts_folder(), &renders, self.settings.render_budget) {
            let name = file.strip_prefix(&renders).ok().and_then(|name| name.to_str());
            let job = name.and_then(|name| name.strip_suffix(".mp4")?.parse().ok());
            if let Some(Err(error)) = job.map(|job| self.jobs.evict(job)) {
                tracing::error!(%error, "a removed video stays listed");
            }
        }
    }

    pub fn demonstrator(&self) -> Demonstrator<'_> {
        let resources = &self.resources;
        Demonstrator {
            library: &resources.library,
            encoder: resources.encoder.as_ref(),
            sentence: &resources.sentence,
            sentence_weights: &resources.sentence_weights,
            scorer: resources.scorer.as_ref(),
            chat: resources.chat.as_ref(),
        }
    }

    /// The clip pool, loaded once; none while the library has no clip.
    pub fn pool(&self) -> Result<Option<Arc<Stock>>> {
        let cached = self.pool.read().unwrap_or_else(PoisonError::into_inner).1.clone();
        if cached.is_some() { Ok(cached) } else { self.reload_pool() }
    }

    /// The clip pool; an error while the library has no clip.
    pub fn require_pool(&self) -> Result<Arc<Stock>> {
        self.pool()?.ok_or_else(|| ApiError::conflict(NO_CLIPS))
    }

    /// Loads the pool again if the library has changed, by whichever program. While another request does
    /// so, what is cached is shown.
    pub fn refresh_pool(&self) -> Result<()> {
        let _loading = match self.loading.try_lock() {
            Ok(loading) => loading,
            Err(TryLockError::Poisoned(poisoned)) => poisoned.into_inner(),
            Err(TryLockError::WouldBlock) => return Ok(()),
        };
        self.load_pool().map(drop)
    }

    /// The same, but waits for another request that loads it.
    pub fn reload_pool(&self) -> Result<Option<Arc<Stock>>> {
        let _loading = lock(&self.loading);
        self.load_pool()
    }

    fn load_pool(&self) -> Result<Option<Arc<Stock>>> {
        // Read first: what is written while the pool is loaded counts as new.
        let generation = self.resources.library.generation()?;
        let (loaded, stock) = self.pool.read().unwrap_or_else(PoisonError::into_inner).clone();
        if loaded == generation {
            return Ok(stock);
        }
        let loaded = match Stock::load(&self.resources.library) {
            Ok(pool) => Some(Arc::new(pool)),
            Err(LibraryError::Empty { .. }) => None,
            Err(error) => return Err(error.into()),
        };
        *self.pool.write().unwrap_or_else(PoisonError::into_inner) = (generation, loaded.clone());
        Ok(loaded)
    }

    /// The encoded procedure of a demonstration, from the cache or by `encode`.
    pub fn encoded(
        &self,
        demonstration: i64,
        encode: impl FnOnce() -> Result<Asked>,
    ) -> Result<Arc<Asked>> {
        if let Some((_, encoded)) = lock(&self.encoded).iter().find(|(id, _)| *id == demonstration)
        {
            return Ok(encoded.clone());
        }
        let encoded = Arc::new(encode()?);
        let mut cache = lock(&self.encoded);
        if cache.len() == MAX_ENCODED_PROCEDURES {
            cache.remove(0);
        }
        cache.push((demonstration, encoded.clone()));
        Ok(encoded)
    }

    /// A folder named by a request, if it exists inside one of the allowed roots.
    pub fn allowed_folder(&self, folder: &str) -> Result<PathBuf> {
        let refused = "videos may not be added from this folder; start the server with --root FOLDER to allow it";
        let videos = self.resources.library.videos()?;
        let mut roots: BTreeSet<&Path> = videos.iter().filter_map(|v| v.path.parent()).collect();
        roots.extend(self.settings.roots.iter().map(PathBuf::as_path));
        let found = inside(roots, Path::new(folder), refused)?;
        match found.is_dir() {
            false => Err(ApiError::invalid("this is not a folder")),
            true => Ok(found),
        }
    }

    /// A file that a request asks to be written, if it is new and its folder lies inside one of the roots that the
    /// user gave. The folders of the library's videos are no place to write to.
    pub fn allowed_new_file(&self, file: &str, extension: &str) -> Result<PathBuf> {
        let refused = "files may not be written there; name a folder that exists, and start stitch with --root \
            FOLDER to allow it";
        let path = Path::new(file);
        let name = path.file_name().filter(|_| !file.ends_with(['/', '.']));
        let name = name.filter(|name| name.to_string_lossy().ends_with(&format!(".{extension}")));
        let (Some(folder), Some(name)) = (path.parent(), name) else {
            return Err(ApiError::invalid(format!("give a file whose name ends in .{extension}")));
        };
        let roots = self.settings.roots.iter().map(PathBuf::as_path);
        let found = inside(roots, folder, refused)?.join(name);
        match found.symlink_metadata() {
            Ok(_) => Err(ApiError::conflict("this file is there already; give another name")),
            Err(_) => Ok(found),
        }
    }
}

/// A folder without symbolic links, so that none leads outside the roots, if it lies inside one of them.
fn inside<'a>(
    roots: impl IntoIterator<Item = &'a Path>,
    folder: &Path,
    refused: &str,
) -> Result<PathBuf> {
    if !folder.is_absolute() || folder.as_os_str().as_encoded_bytes().contains(&0) {
        return Err(ApiError::invalid("give an absolute path"));
    }
    let found = folder.canonicalize().map_err(|error| {
        tracing::debug!(%error, ?folder, "refused");
        ApiError::invalid(refused)
    })?;
    let contains = |root: &Path| root.canonicalize().is_ok_and(|root| found.starts_with(root));
    match roots.into_iter().any(contains) {
        true => Ok(found),
        false => Err(ApiError::invalid(refused)),
    }
}
