//! ONNX graphs: the runtime, loaded from its shared library when first needed, and graphs that run
//! on several threads at once.

use std::path::{Path, PathBuf};
use std::sync::{Mutex, MutexGuard, PoisonError};

use ort::environment::Environment;
use ort::ep::{CUDA, CoreML, ExecutionProvider, ExecutionProviderDispatch};
use ort::session::builder::SessionBuilder;
use ort::session::{Session, SessionInputValue};
use ort::value::{Outlet, TensorRef};

use crate::error::{NnError, Result};

/// A graph that copies one number; made by recipes/golden/onnx_pairs.py.
const PROBE: &[u8] = include_bytes!("probe.onnx");

/// What graphs are computed on.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Provider {
    Cpu,
    Cuda,
    CoreMl,
}

impl Provider {
    pub const ALL: [Self; 3] = [Self::Cpu, Self::Cuda, Self::CoreMl];

    pub const fn name(self) -> &'static str {
        match self {
            Self::Cpu => "cpu",
            Self::Cuda => "cuda",
            Self::CoreMl => "coreml",
        }
    }

    fn dispatch(self) -> Option<ExecutionProviderDispatch> {
        match self {
            Self::Cpu => None,
            Self::Cuda => Some(CUDA::default().build()),
            Self::CoreMl => Some(CoreML::default().build()),
        }
    }

    /// An error with the reason unless the library has it and it starts.
    fn check(self, environment: &Environment) -> Result<(), String> {
        let is_built_in = match self {
            Self::Cpu => Ok(true),
            Self::Cuda => CUDA::is_available(),
            Self::CoreMl => CoreML::is_available(),
        };
        // A missing device or driver shows only when a session is made.
        let start = || builder(environment, self)?.commit_from_memory(PROBE).map(drop);
        match is_built_in {
            Ok(true) => start().map_err(|error: ort::Error| error.to_string()),
            Ok(false) => Err("it was built without it".into()),
            Err(error) => Err(error.to_string()),
        }
    }
}

#[derive(Clone)]
pub struct Runtime {
    environment: Environment,
    provider: Provider,
    /// Why the wanted provider is not used.
    fallback: Option<String>,
}

static LOADED: Mutex<Option<Runtime>> = Mutex::new(None);

fn loaded() -> MutexGuard<'static, Option<Runtime>> {
    LOADED.lock().unwrap_or_else(PoisonError::into_inner)
}

impl Runtime {
    /// Its name in the store of models.
    pub const MODEL: &str = "onnxruntime";
    /// The shared library in its folder.
    pub const LIBRARY: &str = "libonnxruntime.so";

    /// Loads the shared library. A process can load only one: later calls return the first. Graphs are
    /// computed on the wanted provider, else on the first that starts; where the wanted one does not,
    /// on the CPU.
    pub fn load(library: &Path, wanted: Option<Provider>) -> Result<Self> {
        let mut loaded = loaded();
        if let Some(runtime) = &*loaded {
            return Ok(runtime.clone());
        }
        let wrong = |reason: String| NnError::Runtime { path: library.into(), reason };
        let builder = ort::init_from(library).map_err(|error| wrong(error.to_string()))?;
        let environment = builder
            .with_name("stitch")
            .with_telemetry(false)
            .build()
            .map_err(|error| wrong(error.to_string()))?;
        let (provider, fallback) = match wanted {
            None => (first_usable(&environment), None),
            Some(wanted) => match wanted.check(&environment) {
                Ok(()) => (wanted, None),
                Err(reason) => (Provider::Cpu, Some(fallback(library, wanted, &reason))),
            },
        };
        let runtime = Self { environment, provider, fallback };
        *loaded = Some(runtime.clone());
        Ok(runtime)
    }

    /// Why the wanted provider is not used by the loaded library; none if it is.
    pub fn fallback() -> Option<String> {
        loaded().as_ref().and_then(|runtime| runtime.fallback.clone())
    }
}

fn first_usable(environment: &Environment) -> Provider {
    let mut gpus = [Provider::Cuda, Provider::CoreMl].into_iter();
    gpus.find(|provider| provider.check(environment).is_ok()).unwrap_or(Provider::Cpu)
}

fn fallback(library: &Path, wanted: Provider, reason: &str) -> String {
    format!(
        "{}: this ONNX Runtime cannot compute on `{}` ({reason}); the CPU is used; name a library \
         that can in ORT_DYLIB_PATH",
        library.display(),
        wanted.name()
    )
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

/// An input or output of a graph.
#[derive(Clone, Debug, PartialEq)]
pub struct Port {
    pub name: String,
    /// -1 where a dimension is free; empty if it is no tensor.
    pub shape: Vec<i64>,
}

impl Port {
    fn of(outlet: &Outlet) -> Self {
        let shape = outlet.dtype().tensor_shape().map(|shape| shape.to_vec());
        Self { name: outlet.name().to_owned(), shape: shape.unwrap_or_default() }
    }

    /// A dimension that is fixed.
    pub fn fixed(&self, dimension: usize) -> Option<usize> {
        let length = *self.shape.get(dimension)?;
        usize::try_from(length).ok().filter(|length| *length > 0)
    }
}

enum Source {
    Bytes(Vec<u8>),
    /// Its weights may lie in a file beside it.
    File(PathBuf),
}

/// A graph. On the CPU each thread that runs it at the same time as others gets a session of its own,
/// which computes on that thread alone: many small inputs are faster so than one after the other on
/// all cores. On a GPU there is one session, which they take in turn.
pub struct Graph {
    name: String,
    source: Source,
    runtime: Runtime,
    idle: Mutex<Vec<Session>>,
    turn: Mutex<()>,
    inputs: Vec<Port>,
    outputs: Vec<Port>,
}

impl Graph {
    /// A graph in memory, called `name` in messages.
    pub fn from_bytes(runtime: &Runtime, name: &str, bytes: Vec<u8>) -> Result<Self> {
        Self::load(runtime, name.into(), Source::Bytes(bytes))
    }

    pub fn from_file(runtime: &Runtime, path: &Path) -> Result<Self> {
        Self::load(runtime, path.display().to_string(), Source::File(path.into()))
    }

    fn load(runtime: &Runtime, name: String, source: Source) -> Result<Self> {
        let session = session(runtime, &name, &source)?;
        let inputs = session.inputs().iter().map(Port::of).collect();
        let outputs = session.outputs().iter().map(Port::of).collect();
        let (runtime, idle, turn) = (runtime.clone(), Mutex::new(vec![session]), Mutex::new(()));
        Ok(Self { name, source, runtime, idle, turn, inputs, outputs })
    }

    /// As messages call it.
    pub fn name(&self) -> &str {
        &self.name
    }

    /// What the file says of itself under this key.
    pub fn property(&self, key: &str) -> Result<Option<String>> {
        let session = self.borrow()?;
        let told = session.metadata().map(|metadata| metadata.custom(key));
        let told = told.map_err(|error| NnError::Graph {
            graph: self.name.clone(),
            reason: error.to_string(),
        })?;
        self.idle.lock().unwrap_or_else(PoisonError::into_inner).push(session);
        Ok(told)
    }

    /// Runs the graph and returns one output, which must be of floats.
    pub fn run(&self, inputs: &[(&str, Input<'_>)], output: &str) -> Result<Output> {
        self.run_all(inputs, &[output]).map(|mut outputs| outputs.swap_remove(0))
    }

    /// The same for several outputs.
    pub fn run_all(&self, inputs: &[(&str, Input<'_>)], names: &[&str]) -> Result<Vec<Output>> {
        self.check(inputs, names)?;
        let failed = |error: ort::Error| NnError::GraphRun {
            graph: self.name.clone(),
            reason: error.to_string(),
        };
        let inputs = inputs.iter().map(|(name, input)| Ok((name.to_string(), value(*input)?)));
        let inputs = inputs.collect::<ort::Result<Vec<_>>>().map_err(failed)?;
        let is_shared = self.runtime.provider != Provider::Cpu;
        let _turn = is_shared.then(|| self.turn.lock().unwrap_or_else(PoisonError::into_inner));
        let mut session = self.borrow()?;
        let found = {
            let outputs = session.run(inputs).map_err(failed)?;
            let output = |name: &&str| {
                let (shape, data) = outputs[*name].try_extract_tensor::<f32>()?;
                let shape = shape.iter().map(|length| (*length).max(0) as usize).collect();
                Ok(Output { shape, data: data.to_vec() })
            };
            names.iter().map(output).collect::<ort::Result<Vec<_>>>().map_err(failed)?
        };
        self.idle.lock().unwrap_or_else(PoisonError::into_inner).push(session);
        Ok(found)
    }

    fn check(&self, inputs: &[(&str, Input<'_>)], outputs: &[&str]) -> Result<()> {
        inputs.iter().try_for_each(|(name, _)| self.input(Some(name), &[]).map(drop))?;
        outputs.iter().try_for_each(|name| self.output(Some(name), &[]).map(drop))
    }

    /// The input of this name; where none is given that of a usual name, else the only one.
    pub fn input(&self, name: Option<&str>, usual: &[&str]) -> Result<&Port> {
        self.port("input", &self.inputs, name, usual)
    }

    /// The same for outputs.
    pub fn output(&self, name: Option<&str>, usual: &[&str]) -> Result<&Port> {
        self.port("output", &self.outputs, name, usual)
    }

    fn port<'a>(
        &self,
        side: &'static str,
        ports: &'a [Port],
        name: Option<&str>,
        usual: &[&str],
    ) -> Result<&'a Port> {
        let named = |name: &str| ports.iter().find(|port| port.name == name);
        let only = ports.first().filter(|_| ports.len() == 1);
        let found = match name {
            Some(name) => named(name),
            None => usual.iter().find_map(|name| named(name)).or(only),
        };
        found.ok_or_else(|| NnError::NoPort {
            graph: self.name.clone(),
            side,
            name: name.map_or_else(|| usual.join("` or `"), str::to_owned),
            known: ports.iter().map(|port| port.name.as_str()).collect::<Vec<_>>().join(", "),
        })
    }

    /// An idle session, or a new one.
    fn borrow(&self) -> Result<Session> {
        let idle = self.idle.lock().unwrap_or_else(PoisonError::into_inner).pop();
        idle.map_or_else(|| session(&self.runtime, &self.name, &self.source), Ok)
    }
}

/// A graph whose inner value `name` is an output too. Protocol buffers that follow each other are merged, so
/// that the bytes of `ModelProto { graph: GraphProto { output: ValueInfoProto { name } } }` add to its outputs.
pub fn with_output(mut model: Vec<u8>, name: &str) -> Vec<u8> {
    assert!(name.len() < 100, "lengths are written in one byte");
    /// The numbers of `name`, `output` and `graph` in onnx.proto.
    const FIELDS: [u8; 3] = [1, 12, 7];
    let mut message = name.as_bytes().to_vec();
    for field in FIELDS {
        message.splice(0..0, [field << 3 | 2, message.len() as u8]);
    }
    model.extend(message);
    model
}

fn session(runtime: &Runtime, name: &str, source: &Source) -> Result<Session> {
    let make = || {
        let mut builder = builder(&runtime.environment, runtime.provider)?;
        match source {
            Source::Bytes(bytes) => builder.commit_from_memory(bytes),
            Source::File(path) => builder.commit_from_file(path),
        }
    };
    make().map_err(|error: ort::Error| NnError::Graph {
        graph: name.into(),
        reason: error.to_string(),
    })
}

fn builder(environment: &Environment, provider: Provider) -> ort::Result<SessionBuilder> {
    let builder = Session::builder(environment)?.with_intra_threads(1)?.with_inter_threads(1)?;
    // A thread that waits would otherwise take a core from the processes beside this one.
    let builder = builder.with_intra_op_spinning(false)?.with_inter_op_spinning(false)?;
    match provider.dispatch() {
        Some(provider) => Ok(builder.with_execution_providers([provider.error_on_failure()])?),
        None => Ok(builder),
    }
}

fn value(input: Input<'_>) -> ort::Result<SessionInputValue<'_>> {
    Ok(match input {
        Input::Bytes(shape, data) => TensorRef::from_array_view((shape.to_vec(), data))?.into(),
        Input::Floats(shape, data) => TensorRef::from_array_view((shape.to_vec(), data))?.into(),
        Input::Integers(shape, data) => TensorRef::from_array_view((shape.to_vec(), data))?.into(),
    })
}
