//! ONNX graphs: the runtime, loaded from its shared library when first needed, and graphs that run
//! on several threads at once.

use std::path::{Path, PathBuf};
use std::sync::{Mutex, PoisonError};

use ort::environment::Environment;
use ort::session::{Session, SessionInputValue};
use ort::value::{TensorRef, ValueType};

use crate::files::FileError;

/// Why a graph does not run.
#[derive(Debug, thiserror::Error)]
pub enum OnnxError {
    /// The shared library is none, or too old.
    #[error("{}: not a usable ONNX Runtime ({reason}); get one with `stitch models pull {}`",
        path.display(), Runtime::MODEL)]
    Library {
        /// Which file.
        path: PathBuf,
        /// What the loader said.
        reason: String,
    },
    /// The graph cannot be loaded: cut short, or an operator that the runtime does not know.
    #[error(
        "{what}: this graph cannot be used ({reason}); export it again, for operator set 17 or \
        so, without custom operators"
    )]
    Graph {
        /// Which graph.
        what: String,
        /// What the runtime said.
        reason: String,
    },
    /// The graph has no such input or output.
    #[error("{what}: there is no {side} `{name}`; there is {there}")]
    NoPort {
        /// Which graph.
        what: String,
        /// `input` or `output`.
        side: &'static str,
        /// What was asked for.
        name: String,
        /// What there is.
        there: String,
    },
    /// The graph failed on its input.
    #[error("{what}: the graph failed ({reason})")]
    Run {
        /// Which graph.
        what: String,
        /// What the runtime said.
        reason: String,
    },
    /// A file could not be read.
    #[error(transparent)]
    File(#[from] FileError),
}

/// ONNX Runtime, loaded.
#[derive(Clone)]
pub struct Runtime {
    environment: Environment,
}

impl Runtime {
    /// Its name in the store of models.
    pub const MODEL: &str = "onnxruntime";
    /// The shared library in its folder.
    pub const LIBRARY: &str = "libonnxruntime.so";

    /// Loads the shared library; only the first one of a process counts, for a process can have no
    /// second.
    pub fn load(library: &Path) -> Result<Self, OnnxError> {
        static LOADED: Mutex<Option<Environment>> = Mutex::new(None);
        let mut loaded = LOADED.lock().unwrap_or_else(PoisonError::into_inner);
        if let Some(environment) = &*loaded {
            return Ok(Self { environment: environment.clone() });
        }
        let wrong = |reason: String| OnnxError::Library { path: library.into(), reason };
        let builder = ort::init_from(library).map_err(|error| wrong(error.to_string()))?;
        let environment = builder
            .with_name("stitch")
            .with_telemetry(false)
            .build()
            .map_err(|error| wrong(error.to_string()))?;
        *loaded = Some(environment.clone());
        Ok(Self { environment })
    }
}

/// What goes into a graph.
#[derive(Clone, Copy, Debug)]
pub enum Input<'a> {
    /// Bytes of this shape.
    Bytes(&'a [usize], &'a [u8]),
    /// Floats of this shape.
    Floats(&'a [usize], &'a [f32]),
    /// Whole numbers of this shape.
    Integers(&'a [usize], &'a [i64]),
}

/// What comes out of a graph.
#[derive(Clone, Debug, PartialEq)]
pub struct Output {
    /// Its shape.
    pub shape: Vec<usize>,
    /// Its numbers.
    pub data: Vec<f32>,
}

/// A graph. Each thread that runs it at the same time as others gets a session of its own, which
/// computes on that thread alone: many small inputs are faster so than one after the other on all
/// cores.
pub struct Graph {
    what: String,
    bytes: Vec<u8>,
    runtime: Runtime,
    idle: Mutex<Vec<Session>>,
    inputs: Vec<String>,
    outputs: Vec<(String, Option<Vec<i64>>)>,
}

impl Graph {
    /// The graph in a file.
    pub fn open(runtime: &Runtime, path: &Path) -> Result<Self, OnnxError> {
        let bytes = std::fs::read(path).map_err(FileError::at(path))?;
        Self::from_bytes(runtime, &path.display().to_string(), bytes)
    }

    /// A graph in memory, called `what` in messages.
    pub fn from_bytes(runtime: &Runtime, what: &str, bytes: Vec<u8>) -> Result<Self, OnnxError> {
        let session = session(runtime, what, &bytes)?;
        let inputs = session.inputs().iter().map(|port| port.name().to_owned()).collect();
        let outputs = session.outputs().iter();
        let outputs = outputs.map(|port| (port.name().to_owned(), shape(port.dtype()))).collect();
        let (what, runtime, idle) = (what.into(), runtime.clone(), Mutex::new(vec![session]));
        Ok(Self { what, bytes, runtime, idle, inputs, outputs })
    }

    /// The names of its inputs.
    pub fn inputs(&self) -> &[String] {
        &self.inputs
    }

    /// The names of its outputs, with their shape where it is a tensor; -1 is any length.
    pub fn outputs(&self) -> &[(String, Option<Vec<i64>>)] {
        &self.outputs
    }

    /// Runs the graph and returns one output, which must be of floats.
    pub fn run(&self, inputs: &[(&str, Input<'_>)], output: &str) -> Result<Output, OnnxError> {
        self.check(inputs, output)?;
        let failed = |error: ort::Error| OnnxError::Run {
            what: self.what.clone(),
            reason: error.to_string(),
        };
        let inputs = inputs
            .iter()
            .map(|(name, input)| Ok((name.to_string(), value(*input)?)))
            .collect::<ort::Result<Vec<_>>>()
            .map_err(failed)?;
        let mut session = self.borrow()?;
        let found = {
            let outputs = session.run(inputs).map_err(failed)?;
            let (shape, data) = outputs[output].try_extract_tensor::<f32>().map_err(failed)?;
            let shape = shape.iter().map(|length| (*length).max(0) as usize).collect();
            Output { shape, data: data.to_vec() }
        };
        self.idle.lock().unwrap_or_else(PoisonError::into_inner).push(session);
        Ok(found)
    }

    fn check(&self, inputs: &[(&str, Input<'_>)], output: &str) -> Result<(), OnnxError> {
        let missing = |side, name: &str, there: Vec<&str>| OnnxError::NoPort {
            what: self.what.clone(),
            side,
            name: name.into(),
            there: there.join(", "),
        };
        if let Some((name, _)) =
            inputs.iter().find(|(name, _)| !self.inputs.iter().any(|i| i == name))
        {
            let there = self.inputs.iter().map(String::as_str).collect();
            return Err(missing("input", name, there));
        }
        if !self.outputs.iter().any(|(name, _)| name == output) {
            let there = self.outputs.iter().map(|(name, _)| name.as_str()).collect();
            return Err(missing("output", output, there));
        }
        Ok(())
    }

    /// A session that nobody runs just now.
    fn borrow(&self) -> Result<Session, OnnxError> {
        let idle = self.idle.lock().unwrap_or_else(PoisonError::into_inner).pop();
        idle.map_or_else(|| session(&self.runtime, &self.what, &self.bytes), Ok)
    }
}

fn session(runtime: &Runtime, what: &str, bytes: &[u8]) -> Result<Session, OnnxError> {
    let make = || {
        let builder = Session::builder(&runtime.environment)?;
        builder.with_intra_threads(1)?.with_inter_threads(1)?.commit_from_memory(bytes)
    };
    make().map_err(|error: ort::Error| OnnxError::Graph {
        what: what.into(),
        reason: error.to_string(),
    })
}

fn value(input: Input<'_>) -> ort::Result<SessionInputValue<'_>> {
    Ok(match input {
        Input::Bytes(shape, data) => TensorRef::from_array_view((shape.to_vec(), data))?.into(),
        Input::Floats(shape, data) => TensorRef::from_array_view((shape.to_vec(), data))?.into(),
        Input::Integers(shape, data) => TensorRef::from_array_view((shape.to_vec(), data))?.into(),
    })
}

fn shape(kind: &ValueType) -> Option<Vec<i64>> {
    match kind {
        ValueType::Tensor { shape, .. } => Some(shape.to_vec()),
        _ => None,
    }
}
