//! A library: indexing, searching, demonstrating.

use std::path::PathBuf;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

use pyo3::prelude::*;
use serde::Serialize;
use serde_json::json;
use stitch_core::clip::VideoId;
use stitch_core::features::Features;
use stitch_engine::demonstrate::{Asked, Demonstrator, Stock, solve};
use stitch_engine::encoder::mini;
use stitch_engine::index::Indexer;
use stitch_engine::library::{self as engine, MappedMatrix};
use stitch_engine::media::Decode;
use stitch_engine::progress::Progress;
use stitch_engine::session::{Home, Session};
use stitch_engine::shards::{self, Shards};

use crate::errors::failed;
use crate::matrix::Matrix;
use crate::options::{SearchOptions, Written};
use crate::work::run;

type Callback = Option<Py<PyAny>>;

#[pyclass(frozen, module = "stitch._stitch")]
pub struct Library {
    home: Home,
    folder: PathBuf,
    /// What needs no model reads this.
    library: engine::Library,
    /// Loaded when first needed.
    session: Mutex<Option<Arc<Session>>>,
    /// The clips, and the generation of the library that they are of.
    stock: Mutex<Option<(i64, Arc<Stock>)>>,
}

#[pymethods]
impl Library {
    /// Opens a library.
    #[staticmethod]
    fn open(folder: Option<PathBuf>) -> PyResult<Self> {
        let home = Home::from_environment();
        let folder = folder.unwrap_or_else(|| home.library.clone());
        let library = engine::Library::open(&folder).map_err(failed)?;
        Ok(Self { home, folder, library, session: Mutex::default(), stock: Mutex::default() })
    }

    /// Opens a library, and makes it where there is none.
    #[staticmethod]
    fn create(
        py: Python<'_>,
        folder: Option<PathBuf>,
        encoder: Option<String>,
        progress: Callback,
    ) -> PyResult<Self> {
        let home = Home::from_environment();
        let folder = folder.unwrap_or_else(|| home.library.clone());
        let session = run(py, progress, |progress| {
            progress.begin("loading models", 0);
            let known = || engine::Library::open(&folder).ok().map(|known| known.encoder().name.clone());
            let name = encoder.or_else(known).unwrap_or_else(|| mini::NAME.into());
            let sentences = home.load_sentences().map_err(failed)?;
            let encoder = home.load_encoder(&name, &sentences, Decode::Exact, progress).map_err(failed)?;
            let library = engine::Library::open_or_create(&folder, encoder.id()).map_err(failed)?;
            let scorer = home.load_scorer(None, encoder.as_ref()).map_err(failed)?;
            Ok(Arc::new(Session { library, encoder, sentences, scorer, chat: None }))
        })?;
        Ok(Self { session: Mutex::new(Some(session)), ..Self::open(Some(folder))? })
    }

    #[getter]
    fn folder(&self) -> PathBuf {
        self.folder.clone()
    }

    #[getter]
    fn encoder(&self) -> &str {
        &self.library.encoder().name
    }

    fn videos(&self, py: Python<'_>) -> PyResult<String> {
        py.detach(|| text(&self.library.videos().map_err(failed)?))
    }

    /// The clips of a video.
    fn clips(&self, py: Python<'_>, video: u32) -> PyResult<String> {
        py.detach(|| {
            let record = self.library.video(VideoId(video)).map_err(failed)?;
            let known = self.library.known(&record.content).map_err(failed)?;
            let clips = known.into_iter().flat_map(|known| known.clips);
            let clip = |clip: stitch_core::clip::Clip| {
                json!({"start_ms": clip.span.start(), "end_ms": clip.span.end(), "text": clip.text})
            };
            text(&clips.map(clip).collect::<Vec<_>>())
        })
    }

    /// The features of a video, by name.
    fn features(&self, py: Python<'_>, video: u32) -> PyResult<Vec<(String, Matrix)>> {
        py.detach(|| {
            let features = Arc::new(self.library.map_features(VideoId(video)).map_err(failed)?);
            let named = |matrix: &MappedMatrix| (matrix.name.clone(), Matrix::new(&features, matrix));
            Ok(features.matrices.iter().map(named).collect())
        })
    }

    fn index(
        &self,
        py: Python<'_>,
        paths: Vec<PathBuf>,
        speech: String,
        language: Option<String>,
        progress: Callback,
    ) -> PyResult<String> {
        run(py, progress, |progress| {
            let session = self.session(progress)?;
            let Session { library, encoder, sentences, .. } = &*session;
            library.fix_sentence_model(&sentences.weights).map_err(failed)?;
            let screen_text = self.home.load_screen_text("auto").map_err(failed)?;
            let mut speech = self.home.load_optional_speech(&speech).map_err(failed)?;
            if let Some(language) = &language {
                let speaks = speech.map(|speech| speech.in_language(language));
                speech = speaks.transpose().map_err(failed)?;
            }
            let indexer = Indexer {
                encoder: encoder.as_ref(),
                sentence: &sentences.encoder,
                chat: None,
                speech: speech.as_ref(),
                screen_text: screen_text.as_ref(),
                list: None,
                from: None,
            };
            text(&indexer.run(library, &paths, progress).map_err(failed)?)
        })
    }

    fn search(
        &self,
        py: Python<'_>,
        words: String,
        number: usize,
        progress: Callback,
    ) -> PyResult<String> {
        run(py, progress, |progress| {
            let session = self.session(progress)?;
            let stock = self.stock(&session)?;
            text(&session.search(&stock, &words, number).map_err(failed)?)
        })
    }

    /// What the steps of a procedure are searched by: rows in the space of the texts, and in that of the pictures. Those of
    /// the steps in their context follow those of the steps.
    fn encode(
        &self,
        py: Python<'_>,
        procedure: Written,
        title: Option<String>,
        progress: Callback,
    ) -> PyResult<(Vec<Vec<f32>>, Vec<Vec<f32>>)> {
        run(py, progress, |progress| {
            let session = self.session(progress)?;
            let reading = procedure.read(title.as_deref(), &session.sentences)?;
            let asked = Asked::encode(&session.demonstrator(), &reading.procedure).map_err(failed)?;
            let steps = asked.steps();
            let rows = |features: &Features| features.rows().map(<[f32]>::to_vec).collect::<Vec<_>>();
            let context = steps.context;
            let text = context.iter().flat_map(|context| rows(context.text));
            let clip = context.and_then(|context| context.clip).into_iter().flat_map(rows);
            Ok((
                rows(steps.text).into_iter().chain(text).collect(),
                rows(steps.clip).into_iter().chain(clip).collect(),
            ))
        })
    }

    /// The demonstration, and the lines of the text that are no part of the procedure.
    fn demonstrate(
        &self,
        py: Python<'_>,
        procedure: Written,
        title: Option<String>,
        options: SearchOptions,
        progress: Callback,
    ) -> PyResult<(String, Vec<String>)> {
        let solver = options.check()?;
        run(py, progress, |progress| {
            let session = self.session(progress)?;
            let reading = procedure.read(title.as_deref(), &session.sentences)?;
            reading.warnings().iter().for_each(|warning| progress.warn(warning));
            let scorer = self.home.load_scorer(options.scorer.as_deref(), session.encoder.as_ref());
            let scorer = scorer.map_err(failed)?;
            let with = Demonstrator { scorer: scorer.as_ref(), ..session.demonstrator() };
            progress.begin("choosing clips", 0);
            let stock = self.stock(&session)?;
            let asked = Asked::encode(&with, &reading.procedure).map_err(failed)?;
            let found = solve(&with, &stock, &asked, &solver).map_err(failed)?;
            found.language_note.iter().for_each(|note| progress.warn(note));
            Ok((text(&found)?, reading.left_out))
        })
    }
}

/// Adds the videos of the shards in a folder to the library in another; returns what was done.
#[pyfunction]
pub fn merge(py: Python<'_>, url: String, library: PathBuf, progress: Callback) -> PyResult<String> {
    run(py, progress, |progress| {
        let shards = Shards::open(&url).map_err(failed)?;
        text(&shards::merge(&[shards], &library, progress).map_err(failed)?)
    })
}

impl Library {
    fn session(&self, progress: &dyn Progress) -> PyResult<Arc<Session>> {
        let mut loaded = lock(&self.session);
        if let Some(session) = &*loaded {
            return Ok(session.clone());
        }
        progress.begin("loading models", 0);
        let sentences = self.home.load_sentences().map_err(failed)?;
        let session = self.home.open(&self.folder, sentences, None, progress).map_err(failed)?;
        Ok(loaded.insert(Arc::new(session)).clone())
    }

    fn stock(&self, session: &Session) -> PyResult<Arc<Stock>> {
        let mut loaded = lock(&self.stock);
        // Read first: what is written while the clips are loaded counts as new.
        let generation = session.library.generation().map_err(failed)?;
        if let Some((of, stock)) = &*loaded && *of == generation {
            return Ok(stock.clone());
        }
        let stock = Arc::new(Stock::load(&session.library).map_err(failed)?);
        *loaded = Some((generation, stock.clone()));
        Ok(stock)
    }
}

fn lock<T>(mutex: &Mutex<T>) -> MutexGuard<'_, T> {
    mutex.lock().unwrap_or_else(PoisonError::into_inner)
}

fn text(value: &impl Serialize) -> PyResult<String> {
    serde_json::to_string(value).map_err(failed)
}
