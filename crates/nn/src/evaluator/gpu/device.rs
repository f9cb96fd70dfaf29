//! A GPU as the network needs it: memory, matrix products, and the kernels of kernels.cu, compiled when
//! the program runs.

use std::collections::HashMap;
use std::ffi::c_void;
use std::sync::Arc;

use cudarc::cublas::sys::{
    cublasComputeType_t, cublasGemmAlgo_t, cublasOperation_t, cudaDataType_t,
};
use cudarc::cublas::{self, CudaBlas};
use cudarc::driver::sys::CUfunction_attribute_enum;
use cudarc::driver::{
    self, CudaContext, CudaFunction, CudaSlice, CudaStream, DevicePtr, LaunchConfig,
    PinnedHostSlice, PushKernelArg,
};
use cudarc::nvrtc;
use rayon::prelude::*;

/// Why a GPU could not be used.
#[derive(Debug, thiserror::Error)]
pub enum GpuError {
    /// A library is missing.
    #[error("{0} is not there; install it, or name its folder in LD_LIBRARY_PATH")]
    Missing(&'static str),
    /// The driver failed.
    #[error("the GPU's driver says: {0}")]
    Driver(#[from] driver::DriverError),
    /// A matrix product failed.
    #[error("cuBLAS says: {0:?}")]
    Product(#[from] cublas::result::CublasError),
    /// The kernels did not compile.
    #[error("the GPU's kernels could not be compiled: {0}")]
    Kernels(#[from] nvrtc::CompileError),
    /// More numbers than are counted in 32 bits.
    #[error("a batch of {sequences} sequences is too large for the GPU; lower `--batch`")]
    TooLarge {
        /// How many there were.
        sequences: usize,
    },
}

/// What numbers are made of on their way through the network.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Arithmetic {
    /// 32 bits.
    F32,
    /// The upper 16 of these; weights, their gradients and all sums keep 32.
    Bf16,
}

impl Arithmetic {
    /// The bytes of a number.
    pub(super) fn bytes(self) -> usize {
        match self {
            Self::F32 => 4,
            Self::Bf16 => 2,
        }
    }

    fn kind(self) -> cudaDataType_t {
        match self {
            Self::F32 => cudaDataType_t::CUDA_R_32F,
            Self::Bf16 => cudaDataType_t::CUDA_R_16BF,
        }
    }
}

/// A place in the GPU's memory; 0 is none.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct At(u64);

impl At {
    pub const NONE: Self = Self(0);

    pub fn plus(self, bytes: usize) -> Self {
        Self(self.0 + bytes as u64)
    }
}

/// What a kernel is told.
#[derive(Clone, Copy, Debug)]
pub(super) enum Arg {
    At(u64),
    Count(u32),
    Number(f32),
}

impl From<At> for Arg {
    fn from(at: At) -> Self {
        Self::At(at.0)
    }
}

impl From<u32> for Arg {
    fn from(count: u32) -> Self {
        Self::Count(count)
    }
}

impl From<usize> for Arg {
    /// Sizes are checked at the beginning of each pass.
    fn from(count: usize) -> Self {
        Self::Count(count as u32)
    }
}

impl From<f32> for Arg {
    fn from(number: f32) -> Self {
        Self::Number(number)
    }
}

/// How many threads work, in which blocks.
#[derive(Clone, Copy)]
pub(super) struct Blocks {
    grid: (usize, usize, usize),
    threads: usize,
    shared: usize,
}

impl Blocks {
    pub const THREADS: usize = 256;

    /// One thread for each of so many numbers.
    pub fn numbers(count: usize) -> Self {
        Self { grid: (count.div_ceil(Self::THREADS), 1, 1), threads: Self::THREADS, shared: 0 }
    }

    /// One warp for each of so many rows.
    pub fn rows(count: usize) -> Self {
        Self::numbers(count * 32)
    }

    /// One thread for each column of every part.
    pub fn columns(count: usize, parts: usize, chunks: usize) -> Self {
        Self { grid: (count.div_ceil(128), parts, chunks), threads: 128, shared: 0 }
    }

    /// Blocks of four warps with room that they share.
    pub fn sharing(grid: (usize, usize), floats: usize) -> Self {
        Self { grid: (grid.0, grid.1, 1), threads: 128, shared: 4 * floats }
    }
}

/// A matrix in the GPU's memory, row after row.
#[derive(Clone, Copy)]
pub(super) struct Matrix {
    at: At,
    pitch: usize,
    turned: bool,
}

impl Matrix {
    pub fn new(at: At, pitch: usize) -> Self {
        Self { at, pitch, turned: false }
    }

    pub fn turned(self) -> Self {
        Self { turned: !self.turned, ..self }
    }

    fn operation(self) -> cublasOperation_t {
        if self.turned { cublasOperation_t::CUBLAS_OP_T } else { cublasOperation_t::CUBLAS_OP_N }
    }
}

/// What becomes of a product.
#[derive(Clone, Copy, PartialEq, Eq)]
pub(super) enum Outcome {
    Written,
    Added,
    /// Written in 32 bits, whatever the factors are.
    Gradient,
}

/// Memory that grows as it is needed.
#[derive(Default)]
pub(super) struct Buffer(Option<CudaSlice<u8>>);

/// The GPU.
pub(super) struct Device {
    stream: Arc<CudaStream>,
    blas: CudaBlas,
    kernels: HashMap<&'static str, CudaFunction>,
    staging: Option<PinnedHostSlice<f32>>,
    pub arithmetic: Arithmetic,
}

/// All kernels of kernels.cu.
const KERNELS: [&str; 21] = [
    "norm_rows",
    "join",
    "norm_back",
    "activate",
    "activate_back",
    "drop_out",
    "converted",
    "add",
    "gather",
    "scatter_add",
    "embed",
    "embed_back",
    "column_sums",
    "place_sums",
    "collect",
    "attend",
    "attend_back",
    "judge",
    "judge_sums",
    "squares",
    "adam",
];

/// The most shared memory that a kernel may use without asking.
const SHARED: usize = 48 << 10;

impl Device {
    /// The first GPU, with kernels for these constants.
    pub fn new(arithmetic: Arithmetic, constants: &[(&str, usize)]) -> Result<Self, GpuError> {
        check_libraries()?;
        let context = CudaContext::new(0)?;
        let (major, minor) = context.compute_capability()?;
        let defined = constants.iter().map(|(name, value)| format!("-D{name}={value}"));
        let target = std::iter::once(format!("--gpu-architecture=compute_{major}{minor}"));
        let options = nvrtc::CompileOptions {
            options: target.chain(defined).collect(),
            ..Default::default()
        };
        let compiled = nvrtc::compile_ptx_with_opts(include_str!("kernels.cu"), options)?;
        let module = context.load_module(compiled)?;
        let load = |name| Ok((name, module.load_function(name)?));
        let kernels = KERNELS.into_iter().map(load).collect::<Result<_, GpuError>>()?;
        let stream = context.default_stream();
        let blas = CudaBlas::new(stream.clone())?;
        Ok(Self { stream, blas, kernels, staging: None, arithmetic })
    }

    /// Memory for so many bytes, whatever is in it.
    pub fn room(&self, buffer: &mut Buffer, bytes: usize) -> Result<At, GpuError> {
        let slice = match buffer.0.take() {
            Some(slice) if slice.len() >= bytes => slice,
            // SAFETY: kernels write to it before they read it.
            _ => unsafe { self.stream.alloc::<u8>(bytes.max(1))? },
        };
        let at = At(slice.device_ptr(&self.stream).0);
        buffer.0 = Some(slice);
        Ok(at)
    }

    /// Starts a kernel, with what kernels.cu says that it takes.
    pub fn launch(&self, name: &'static str, blocks: Blocks, args: &[Arg]) -> Result<(), GpuError> {
        let kernel = &self.kernels[name];
        if blocks.shared > SHARED {
            let most = CUfunction_attribute_enum::CU_FUNC_ATTRIBUTE_MAX_DYNAMIC_SHARED_SIZE_BYTES;
            kernel.set_attribute(most, blocks.shared as i32)?;
        }
        let mut launch = self.stream.launch_builder(kernel);
        for arg in args {
            match arg {
                Arg::At(at) => launch.arg(at),
                Arg::Count(count) => launch.arg(count),
                Arg::Number(number) => launch.arg(number),
            };
        }
        let (x, y, z) = blocks.grid;
        let config = LaunchConfig {
            grid_dim: (x as u32, y as u32, z as u32),
            block_dim: (blocks.threads as u32, 1, 1),
            shared_mem_bytes: blocks.shared as u32,
        };
        // SAFETY: the callers in this module keep to the arguments of kernels.cu, and to buffers of the
        // sizes that these imply.
        unsafe { launch.launch(config)? };
        Ok(())
    }

    /// c \[m, n\] = a \[m, k\] b \[k, n\]
    pub fn multiply(
        &self,
        (a, b, c): (Matrix, Matrix, Matrix),
        (m, n, k): (usize, usize, usize),
        outcome: Outcome,
    ) -> Result<(), GpuError> {
        let (one, kind) = (1.0f32, self.arithmetic.kind());
        let kept = if outcome == Outcome::Added { 1.0f32 } else { 0.0 };
        let result_kind = match outcome {
            Outcome::Gradient => cudaDataType_t::CUDA_R_32F,
            _ => kind,
        };
        // cuBLAS keeps matrices column after column: to it, ours are turned, and so is their product.
        // SAFETY: the matrices lie in buffers of their sizes.
        unsafe {
            cublas::result::gemm_ex(
                *self.blas.handle(),
                b.operation(),
                a.operation(),
                n as i32,
                m as i32,
                k as i32,
                (&raw const one).cast::<c_void>(),
                b.at.0 as *const c_void,
                kind,
                b.pitch as i32,
                a.at.0 as *const c_void,
                kind,
                a.pitch as i32,
                (&raw const kept).cast::<c_void>(),
                c.at.0 as *mut c_void,
                result_kind,
                c.pitch as i32,
                cublasComputeType_t::CUBLAS_COMPUTE_32F,
                cublasGemmAlgo_t::CUBLAS_GEMM_DEFAULT,
            )?;
        }
        Ok(())
    }

    /// Copies a few numbers to the GPU.
    pub fn write<T>(&self, at: At, numbers: &[T]) -> Result<(), GpuError> {
        // SAFETY: the buffer is as large; memory that is not pinned is read before this returns.
        Ok(unsafe { driver::result::memcpy_htod_async(at.0, numbers, self.stream.cu_stream())? })
    }

    /// Copies many numbers to the GPU, by way of memory that it can fetch them from.
    pub fn write_many(&mut self, at: At, numbers: &[f32]) -> Result<(), GpuError> {
        self.stream.synchronize()?; // the last copy out of it is done
        let mut staging = match self.staging.take() {
            Some(staging) if staging.len() >= numbers.len() => staging,
            // SAFETY: it is written before it is read.
            _ => unsafe { self.stream.context().alloc_pinned(numbers.len().max(1))? },
        };
        let room = &mut staging.as_mut_slice()?[..numbers.len()];
        room.par_chunks_mut(1 << 16)
            .zip(numbers.par_chunks(1 << 16))
            .for_each(|(to, from)| to.copy_from_slice(from));
        self.write(at, room)?;
        self.staging = Some(staging);
        Ok(())
    }

    /// Copies numbers from the GPU, when all that was started is done.
    pub fn read(&self, at: At, count: usize) -> Result<Vec<f32>, GpuError> {
        let mut numbers = vec![0.0f32; count];
        // SAFETY: the buffer is as large, and the copy is done before anybody reads it.
        unsafe { driver::result::memcpy_dtoh_async(&mut numbers, at.0, self.stream.cu_stream())? };
        self.stream.synchronize()?;
        Ok(numbers)
    }

    /// Fills memory with zeros.
    pub fn clear(&self, at: At, bytes: usize) -> Result<(), GpuError> {
        // SAFETY: the buffer is as large.
        Ok(unsafe { driver::result::memset_d8_async(at.0, 0, bytes, self.stream.cu_stream())? })
    }
}

/// That the libraries are there: they are loaded when they are first used, which must not fail.
fn check_libraries() -> Result<(), GpuError> {
    // SAFETY: loading NVIDIA's libraries runs nothing but what they need to begin.
    let there = unsafe {
        [
            (driver::sys::is_culib_present(), "the NVIDIA driver (libcuda)"),
            (cublas::sys::is_culib_present(), "CUDA's matrix library (libcublas)"),
            (nvrtc::sys::is_culib_present(), "CUDA's run-time compiler (libnvrtc)"),
        ]
    };
    match there.into_iter().find(|(there, _)| !there) {
        Some((_, name)) => Err(GpuError::Missing(name)),
        None => Ok(()),
    }
}
