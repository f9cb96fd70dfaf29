//! Why a model cannot be loaded or run, and why a file could not be read or written.

use std::io;
use std::path::PathBuf;

use safetensors::tensor::SafeTensorError;

/// A file or folder could not be read or written.
#[derive(Debug, thiserror::Error)]
#[error("{}: {}", path.display(), explain(source))]
pub struct FileError {
    pub path: PathBuf,
    pub source: io::Error,
}

impl FileError {
    /// Adds the path to an I/O error: `File::open(p).map_err(FileError::at(p))?`
    pub fn at(path: impl Into<PathBuf>) -> impl FnOnce(io::Error) -> Self {
        let path = path.into();
        move |source| Self { path, source }
    }
}

/// The system's words, and what to do where that is known.
fn explain(error: &io::Error) -> String {
    match error.kind() {
        io::ErrorKind::StorageFull => {
            "the disk is full; free some space and run the same command again".into()
        }
        io::ErrorKind::FileTooLarge | io::ErrorKind::QuotaExceeded => {
            "no file this large may be written here; raise the limit or the quota, and run the same \
             command again"
                .into()
        }
        io::ErrorKind::ReadOnlyFilesystem => "the file system is read-only".into(),
        io::ErrorKind::NotFound => "there is no such file or folder; check the path".into(),
        io::ErrorKind::PermissionDenied => {
            "this may not be read or written here; check its permissions".into()
        }
        _ => error.to_string(),
    }
}

pub(crate) type Result<T, E = NnError> = std::result::Result<T, E>;

/// A model cannot be loaded or run.
#[derive(Debug, thiserror::Error)]
pub enum NnError {
    #[error(transparent)]
    File(#[from] FileError),
    /// The weights are a pickle, which could run any program.
    #[error("{}: this is a Python pickle, which can run any program and is never opened; save the \
        weights as safetensors instead", path.display())]
    Pickle { path: PathBuf },
    /// The weights are not safetensors, or cut short.
    #[error("{}: not a whole safetensors file ({source}); fetch or save the model again",
        path.display())]
    NotSafetensors { path: PathBuf, source: SafeTensorError },
    #[error("{}: the tensor `{name}` is missing; the file belongs to another kind of model",
        path.display())]
    MissingTensor { path: PathBuf, name: String },
    /// A tensor has another shape than the config says.
    #[error("{}: the tensor `{name}` has the shape {found:?}, the config makes it {expected:?}",
        path.display())]
    WrongShape { path: PathBuf, name: String, expected: Vec<usize>, found: Vec<usize> },
    #[error("{}: the tensor `{name}` is of {dtype}, only F32, F16 and BF16 are read",
        path.display())]
    WrongType { path: PathBuf, name: String, dtype: String },
    /// A tensor holds NaN or an infinity.
    #[error("{}: the tensor `{name}` holds a number that is not finite; its training failed, or \
        the file is damaged", path.display())]
    NotFinite { path: PathBuf, name: String },
    /// The config (or another JSON file of the folder) cannot be understood or used.
    #[error("{}: {reason}", path.display())]
    Config { path: PathBuf, reason: String },
    #[error("{}: {reason}; fetch the model again", path.display())]
    Tokenizer { path: PathBuf, reason: String },
    #[error("there is no embedding of token {token}: the tokenizer is of another model")]
    UnknownToken { token: u32 },
    /// The shared library is none, or too old.
    #[error("{}: not a usable ONNX Runtime ({reason}); get one with `stitch models pull \
        onnxruntime`", path.display())]
    Runtime { path: PathBuf, reason: String },
    /// The graph cannot be loaded: cut short, or an operator that the runtime does not know.
    #[error(
        "{graph}: this graph cannot be used ({reason}); export it again, for operator set 17 or \
        so, without custom operators"
    )]
    Graph { graph: String, reason: String },
    /// The graph has no such input or output; `side` says which of them.
    #[error(
        "{graph}: there is no {side} `{name}`; there is {known}; write the right one into \
        encoder.toml as {side} = \"NAME\""
    )]
    NoPort { graph: String, side: &'static str, name: String, known: String },
    /// The graph failed on its input.
    #[error("{graph}: the graph failed ({reason})")]
    GraphRun { graph: String, reason: String },
    #[cfg(feature = "cuda")]
    #[error("{0} is not there; install it, or name its folder in LD_LIBRARY_PATH")]
    GpuLibrary(&'static str),
    #[cfg(feature = "cuda")]
    #[error("the GPU's driver says: {0}")]
    GpuDriver(#[from] cudarc::driver::DriverError),
    #[cfg(feature = "cuda")]
    #[error("cuBLAS says: {0:?}")]
    GpuProduct(#[from] cudarc::cublas::result::CublasError),
    #[cfg(feature = "cuda")]
    #[error("the GPU's kernels could not be compiled: {0}")]
    GpuKernels(#[from] cudarc::nvrtc::CompileError),
    /// More elements than are counted in 32 bits.
    #[cfg(feature = "cuda")]
    #[error("a batch of {sequences} sequences is too large for the GPU; lower `--batch`")]
    GpuBatch { sequences: usize },
}
