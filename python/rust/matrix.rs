//! A matrix of features in a mapped file, which numpy reads through the buffer protocol without a copy.

use std::ffi::{c_int, c_void};
use std::ptr::null_mut;
use std::sync::Arc;

use pyo3::exceptions::PyBufferError;
use pyo3::ffi;
use pyo3::prelude::*;
use stitch_engine::library::{MappedFeatures, MappedMatrix};

/// Rows of 16-bit floats; read-only. The file stays mapped for as long as this or a view of it is there.
#[pyclass(frozen, module = "stitch._stitch")]
pub struct Matrix {
    features: Arc<MappedFeatures>,
    matrix: MappedMatrix,
    shape: [ffi::Py_ssize_t; 2],
    strides: [ffi::Py_ssize_t; 2],
}

/// In bytes.
const ITEM_SIZE: ffi::Py_ssize_t = 2;

impl Matrix {
    pub fn new(features: &Arc<MappedFeatures>, matrix: &MappedMatrix) -> Self {
        let shape = [matrix.rows as ffi::Py_ssize_t, matrix.dim as ffi::Py_ssize_t];
        let strides = [shape[1] * ITEM_SIZE, ITEM_SIZE];
        Self { features: features.clone(), matrix: matrix.clone(), shape, strides }
    }
}

#[pymethods]
impl Matrix {
    unsafe fn __getbuffer__(
        slf: Bound<'_, Self>,
        view: *mut ffi::Py_buffer,
        flags: c_int,
    ) -> PyResult<()> {
        if flags & ffi::PyBUF_WRITABLE == ffi::PyBUF_WRITABLE {
            return Err(PyBufferError::new_err("features are read-only; copy them to change them"));
        }
        let asked = |flag: c_int| flags & flag == flag;
        let this = slf.get();
        let bytes = this.features.bytes(&this.matrix);
        // Safety: Python passes a view to fill; what it points to lives as long as `obj`, which the view owns.
        unsafe {
            (*view).buf = bytes.as_ptr() as *mut c_void;
            (*view).len = bytes.len() as ffi::Py_ssize_t;
            (*view).readonly = 1;
            (*view).itemsize = ITEM_SIZE;
            (*view).format = if asked(ffi::PyBUF_FORMAT) { c"e".as_ptr().cast_mut() } else { null_mut() };
            (*view).ndim = 2;
            (*view).shape = if asked(ffi::PyBUF_ND) { this.shape.as_ptr().cast_mut() } else { null_mut() };
            (*view).strides =
                if asked(ffi::PyBUF_STRIDES) { this.strides.as_ptr().cast_mut() } else { null_mut() };
            (*view).suboffsets = null_mut();
            (*view).internal = null_mut();
            (*view).obj = slf.into_any().into_ptr();
        }
        Ok(())
    }
}
