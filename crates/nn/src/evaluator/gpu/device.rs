//! The GPU: memory, matrix products, and the kernels of kernels.cu, compiled when the program runs.

use std::collections::HashMap;
use std::ffi::c_void;
use std::sync::Arc;

use cudarc::cublas::sys::{
    cublasComputeType_t, cublasGemmAlgo_t, cublasOperation_t, cudaDataType_t,
};
use cudarc::cublas::{self, CudaBlas};
use cudarc::driver::sys::CUfunction_attribute_enum;
use cudarc::driver::{
    self, CudaContext, CudaFunction, CudaSlice, CudaStream, DevicePtr, DeviceRepr, LaunchConfig,
    PinnedHostSlice, PushKernelArg,
};
use cudarc::nvrtc;
use rayon::prelude::*;

use crate::error::{NnError, Result};
use crate::evaluator::dropout::Mask;

/// The type of activations and of factors in matrix products.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Arithmetic {
    F32,
    /// Parameters, their gradients and all sums keep 32 bits.
    Bf16,
}

impl Arithmetic {
    /// The bytes of a value.
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

/// An address in the GPU's memory.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(super) struct Address(u64);

impl Address {
    pub const NULL: Self = Self(0);

    pub fn offset(self, bytes: usize) -> Self {
        Self(self.0 + bytes as u64)
    }
}

/// An argument of a kernel.
#[derive(Clone, Copy, Debug)]
pub(super) enum Arg {
    Address(u64),
    U32(u32),
    F32(f32),
    /// Its key, its threshold and its scale, as three arguments.
    Mask(u32, u32, f32),
}

macro_rules! arg_from {
    ($($kind:ty: |$value:ident| $arg:expr;)*) => {
        $(impl From<$kind> for Arg {
            fn from($value: $kind) -> Self {
                $arg
            }
        })*
    };
}

arg_from! {
    Address: |at| Self::Address(at.0);
    u32: |count| Self::U32(count);
    // Sizes are checked at the beginning of each pass.
    usize: |count| Self::U32(count as u32);
    f32: |number| Self::F32(number);
    Option<Mask>: |mask| mask.map_or(Self::Mask(0, 0, 1.0), |m| Self::Mask(m.key, m.threshold, m.scale));
}

/// How many threads run, in which blocks.
#[derive(Clone, Copy)]
pub(super) struct LaunchGrid {
    grid: (usize, usize, usize),
    threads: usize,
    shared: usize,
}

impl LaunchGrid {
    pub const THREADS: usize = 256;

    /// One thread for each element.
    pub fn elements(count: usize) -> Self {
        Self { grid: (count.div_ceil(Self::THREADS), 1, 1), threads: Self::THREADS, shared: 0 }
    }

    /// One warp for each row.
    pub fn rows(count: usize) -> Self {
        Self::elements(count * 32)
    }

    /// One thread for each column of every part.
    pub fn columns(count: usize, parts: usize, chunks: usize) -> Self {
        Self { grid: (count.div_ceil(128), parts, chunks), threads: 128, shared: 0 }
    }

    /// Blocks of four warps that share so many floats.
    pub fn with_shared_memory(grid: (usize, usize), floats: usize) -> Self {
        Self { grid: (grid.0, grid.1, 1), threads: 128, shared: 4 * floats }
    }
}

/// A matrix in the GPU's memory, row after row.
#[derive(Clone, Copy)]
pub(super) struct GpuMatrix {
    at: Address,
    pitch: usize,
    transposed: bool,
}

impl GpuMatrix {
    pub fn new(at: Address, pitch: usize) -> Self {
        Self { at, pitch, transposed: false }
    }

    pub fn transposed(self) -> Self {
        Self { transposed: !self.transposed, ..self }
    }

    fn operation(self) -> cublasOperation_t {
        if self.transposed {
            cublasOperation_t::CUBLAS_OP_T
        } else {
            cublasOperation_t::CUBLAS_OP_N
        }
    }
}

/// What becomes of a matrix product.
#[derive(Clone, Copy, PartialEq, Eq)]
pub(super) enum GemmOutput {
    Write,
    Add,
    /// In 32 bits, whatever the factors are.
    WriteF32,
}

/// Memory that grows as it is needed.
#[derive(Default)]
pub(super) struct GpuBuffer {
    memory: Option<CudaSlice<u8>>,
    /// NULL before the first [`Device::reserve`].
    pub address: Address,
}

impl GpuBuffer {
    /// Panics unless the buffer has room for so many bytes.
    fn check(&self, bytes: usize) {
        let room = self.memory.as_ref().map_or(0, CudaSlice::len);
        assert!(bytes <= room, "{bytes} bytes in a buffer of {room}");
    }
}

pub(super) struct Device {
    stream: Arc<CudaStream>,
    blas: CudaBlas,
    kernels: HashMap<&'static str, CudaFunction>,
    staging: Option<PinnedHostSlice<f32>>,
    pub arithmetic: Arithmetic,
}

const SOURCE: &str = include_str!("kernels.cu");

/// The most bytes of shared memory that a kernel may use without a setting.
const DEFAULT_SHARED_BYTES: usize = 48 << 10;

impl Device {
    /// The first GPU, with kernels for these constants.
    pub fn new(arithmetic: Arithmetic, constants: &[(&str, usize)]) -> Result<Self> {
        check_libraries()?;
        let context = CudaContext::new(0)?;
        let (major, minor) = context.compute_capability()?;
        let defined = constants.iter().map(|(name, value)| format!("-D{name}={value}"));
        let target = std::iter::once(format!("--gpu-architecture=compute_{major}{minor}"));
        let options = nvrtc::CompileOptions {
            options: target.chain(defined).collect(),
            ..Default::default()
        };
        let module = context.load_module(nvrtc::compile_ptx_with_opts(SOURCE, options)?)?;
        let names =
            SOURCE.split("__global__ void ").skip(1).filter_map(|rest| rest.split('(').next());
        let load = |name| Ok((name, module.load_function(name)?));
        let kernels = names.map(load).collect::<Result<_>>()?;
        let stream = context.default_stream();
        let blas = CudaBlas::new(stream.clone())?;
        Ok(Self { stream, blas, kernels, staging: None, arithmetic })
    }

    /// New memory of so many bytes, whatever is in it.
    pub fn buffer(&self, bytes: usize) -> Result<GpuBuffer> {
        let mut buffer = GpuBuffer::default();
        self.reserve(&mut buffer, bytes)?;
        Ok(buffer)
    }

    /// Memory for so many bytes, whatever is in it.
    pub fn reserve(&self, buffer: &mut GpuBuffer, bytes: usize) -> Result<Address> {
        if buffer.memory.as_ref().is_none_or(|memory| memory.len() < bytes) {
            // SAFETY: kernels write to it before they read it.
            let memory = unsafe { self.stream.alloc::<u8>(bytes.max(1))? };
            buffer.address = Address(memory.device_ptr(&self.stream).0);
            buffer.memory = Some(memory);
        }
        Ok(buffer.address)
    }

    /// Starts a kernel.
    ///
    /// # Safety
    ///
    /// The arguments are those that kernels.cu names, in its order, and each address is of a buffer that is as large as
    /// the counts among them make it, and that lives until the kernel is done.
    pub unsafe fn launch(
        &self,
        name: &'static str,
        blocks: LaunchGrid,
        args: &[Arg],
    ) -> Result<()> {
        let kernel = &self.kernels[name];
        if blocks.shared > DEFAULT_SHARED_BYTES {
            let most = CUfunction_attribute_enum::CU_FUNC_ATTRIBUTE_MAX_DYNAMIC_SHARED_SIZE_BYTES;
            kernel.set_attribute(most, blocks.shared as i32)?;
        }
        let mut launch = self.stream.launch_builder(kernel);
        for arg in args {
            match arg {
                Arg::Address(at) => launch.arg(at),
                Arg::U32(count) => launch.arg(count),
                Arg::F32(number) => launch.arg(number),
                Arg::Mask(key, threshold, scale) => launch.arg(key).arg(threshold).arg(scale),
            };
        }
        let (x, y, z) = blocks.grid;
        let config = LaunchConfig {
            grid_dim: (x as u32, y as u32, z as u32),
            block_dim: (blocks.threads as u32, 1, 1),
            shared_mem_bytes: blocks.shared as u32,
        };
        // SAFETY: the caller keeps to it.
        unsafe { launch.launch(config)? };
        Ok(())
    }

    /// c \[m, n\] = a \[m, k\] b \[k, n\]
    ///
    /// # Safety
    ///
    /// The matrices lie in buffers that have room for these sizes, and that live until the product is there.
    pub unsafe fn multiply(
        &self,
        (a, b, c): (GpuMatrix, GpuMatrix, GpuMatrix),
        (m, n, k): (usize, usize, usize),
        output: GemmOutput,
    ) -> Result<()> {
        let (one, kind) = (1.0f32, self.arithmetic.kind());
        let beta = if output == GemmOutput::Add { 1.0f32 } else { 0.0 };
        let result_kind = match output {
            GemmOutput::WriteF32 => cudaDataType_t::CUDA_R_32F,
            _ => kind,
        };
        // cuBLAS keeps matrices column after column: to it, ours are transposed, and so is their product.
        // SAFETY: the caller keeps to it.
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
                (&raw const beta).cast::<c_void>(),
                c.at.0 as *mut c_void,
                result_kind,
                c.pitch as i32,
                cublasComputeType_t::CUBLAS_COMPUTE_32F,
                cublasGemmAlgo_t::CUBLAS_GEMM_DEFAULT,
            )?;
        }
        Ok(())
    }

    /// Copies a few values to the beginning of a buffer.
    pub fn write<T: DeviceRepr>(&self, to: &GpuBuffer, values: &[T]) -> Result<()> {
        to.check(size_of_val(values));
        let stream = self.stream.cu_stream();
        // SAFETY: the buffer is as large; memory that is not pinned is read before this returns, and pinned memory
        // is `staging`, which is not written before the stream is done with it.
        unsafe { driver::result::memcpy_htod_async(to.address.0, values, stream)? };
        Ok(())
    }

    /// Copies many values to the beginning of a buffer, through pinned memory.
    pub fn write_many(&mut self, to: &GpuBuffer, values: &[f32]) -> Result<()> {
        self.stream.synchronize()?; // the last copy out of it is done
        let mut staging = match self.staging.take() {
            Some(staging) if staging.len() >= values.len() => staging,
            // SAFETY: it is written before it is read.
            _ => unsafe { self.stream.context().alloc_pinned(values.len().max(1))? },
        };
        let room = &mut staging.as_mut_slice()?[..values.len()];
        room.par_chunks_mut(1 << 16)
            .zip(values.par_chunks(1 << 16))
            .for_each(|(to, from)| to.copy_from_slice(from));
        self.write(to, room)?;
        self.staging = Some(staging);
        Ok(())
    }

    /// Copies values from the beginning of a buffer, when all that was started is done.
    pub fn read(&self, from: &GpuBuffer, count: usize) -> Result<Vec<f32>> {
        let mut values = vec![0.0f32; count];
        from.check(size_of_val(&*values));
        let stream = self.stream.cu_stream();
        // SAFETY: the buffer is as large, and the copy is done before anybody reads it.
        unsafe { driver::result::memcpy_dtoh_async(&mut values, from.address.0, stream)? };
        self.stream.synchronize()?;
        Ok(values)
    }

    /// Fills the beginning of a buffer with zeros.
    pub fn clear(&self, buffer: &GpuBuffer, bytes: usize) -> Result<()> {
        buffer.check(bytes);
        let stream = self.stream.cu_stream();
        // SAFETY: the buffer is as large.
        unsafe { driver::result::memset_d8_async(buffer.address.0, 0, bytes, stream)? };
        Ok(())
    }
}

/// That the libraries are there: they are loaded when they are first used, which must not fail.
fn check_libraries() -> Result<()> {
    // SAFETY: loading NVIDIA's libraries runs nothing but what they need to begin.
    let there = unsafe {
        [
            (driver::sys::is_culib_present(), "the NVIDIA driver (libcuda)"),
            (cublas::sys::is_culib_present(), "CUDA's matrix library (libcublas)"),
            (nvrtc::sys::is_culib_present(), "CUDA's run-time compiler (libnvrtc)"),
        ]
    };
    match there.into_iter().find(|(there, _)| !there) {
        Some((_, name)) => Err(NnError::GpuLibrary(name)),
        None => Ok(()),
    }
}
