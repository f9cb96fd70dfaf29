//! ONNX graphs: the runtime, loaded from its shared library when first needed, and graphs that run
//! on several threads at once.

use std::path::Path;
use std::sync::{Mutex, PoisonError};

use ort::environment::Environment;
use ort::session::{Session, SessionInputValue};
use ort::value::TensorRef;

use crate::error::{NnError, Result};

#[derive(Clone)]
pub struct Runtime {
    environment: Environment,
}

impl Runtime {
    /// Its name in the store of models.
    pub const MODEL: &str = "onnxruntime";
    /// The shared library in its folder.
    pub const LIBRARY: &str = "libonnxruntime.so";

    /// Loads the shared library. A process can load only one: later calls return the first.
    pub fn load(library: &Path) -> Result<Self> {
        static LOADED: Mutex<Option<Environment>> = Mutex::new(None);
        let mut loaded = LOADED.lock().unwrap_or_else(PoisonError::into_inner);
        if let Some(environment) = &*loaded {
            return Ok(Self { environment: environment.clone() });
        }
        let wrong = |reason: String| NnError::Runtime { path: library.into(), reason };
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

/// A tensor that goes into a graph: its shape and its elements.
#[derive(Clone, Copy, Debug)]
pub enum Input<'a> {
    Bytes(&'a [usize], &'a [u8]),
    Floats(&'a [usize], &'a [f32]),
    Integers(&'a [usize], &'a [i64]),
}

#[derive(Clone, Debug, PartialEq)]
pub struct Output {
    pub shape: Vec<usize>,
    pub data: Vec<f32>,
}

/// A graph. Each thread that runs it at the same time as others gets a session of its own, which
/// computes on that thread alone: many small inputs are faster so than one after the other on all
/// cores.
pub struct Graph {
    name: String,
    bytes: Vec<u8>,
    runtime: Runtime,
    idle: Mutex<Vec<Session>>,
    inputs: Vec<String>,
    outputs: Vec<String>,
}

impl Graph {
    /// A graph in memory, called `name` in messages.
    pub fn from_bytes(runtime: &Runtime, name: &str, bytes: Vec<u8>) -> Result<Self> {
        let session = session(runtime, name, &bytes)?;
        let inputs = session.inputs().iter().map(|port| port.name().to_owned()).collect();
        let outputs = session.outputs().iter().map(|port| port.name().to_owned()).collect();
        let (name, runtime, idle) = (name.into(), runtime.clone(), Mutex::new(vec![session]));
        Ok(Self { name, bytes, runtime, idle, inputs, outputs })
    }

    /// Runs the graph and returns one output, which must be of floats.
    pub fn run(&self, inputs: &[(&str, Input<'_>)], output: &str) -> Result<Output> {
        self.check(inputs, output)?;
        let failed = |error: ort::Error| NnError::GraphRun {
            graph: self.name.clone(),
            reason: error.to_string(),
        };
        let inputs = inputs.iter().map(|(name, input)| Ok((name.to_string(), value(*input)?)));
        let inputs = inputs.collect::<ort::Result<Vec<_>>>().map_err(failed)?;
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

    fn check(&self, inputs: &[(&str, Input<'_>)], output: &str) -> Result<()> {
        let input = |(name, _): &(&'_ str, Input<'_>)| ("input", name.to_string(), &self.inputs);
        let mut ports = inputs.iter().map(input).chain([("output", output.into(), &self.outputs)]);
        match ports.find(|(_, name, known)| !known.contains(name)) {
            None => Ok(()),
            Some((side, name, known)) => {
                let (graph, known) = (self.name.clone(), known.join(", "));
                Err(NnError::NoPort { graph, side, name, known })
            }
        }
    }

    /// An idle session, or a new one.
    fn borrow(&self) -> Result<Session> {
        let idle = self.idle.lock().unwrap_or_else(PoisonError::into_inner).pop();
        idle.map_or_else(|| session(&self.runtime, &self.name, &self.bytes), Ok)
    }
}

fn session(runtime: &Runtime, name: &str, bytes: &[u8]) -> Result<Session> {
    let make = || {
        let builder = Session::builder(&runtime.environment)?;
        builder.with_intra_threads(1)?.with_inter_threads(1)?.commit_from_memory(bytes)
    };
    make().map_err(|error: ort::Error| NnError::Graph {
        graph: name.into(),
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
