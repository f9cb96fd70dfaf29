"""EfficientNet-Lite's published ImageNet weights, read without PyTorch and without running any pickle.

The .pth files are in PyTorch's old format: a few pickles, then each storage as a length and raw floats.
Only four names are let through the unpickler, so a poisoned file cannot run anything.
"""
import collections
import io
import pickle
import struct

import numpy as np

DTYPES = {"FloatStorage": np.float32, "LongStorage": np.int64}


class _Storage:
    def __init__(self, kind, key, count):
        self.kind, self.key, self.count = kind, key, count


class _Tensor:
    def __init__(self, storage, offset, shape, strides):
        self.storage, self.offset, self.shape, self.strides = storage, offset, shape, strides


class _Reader(pickle.Unpickler):
    ALLOWED = {
        ("torch._utils", "_rebuild_tensor_v2"): lambda s, o, shape, strides, *_: _Tensor(s, o, shape, strides),
        ("collections", "OrderedDict"): collections.OrderedDict,
        ("torch", "FloatStorage"): "FloatStorage",
        ("torch", "LongStorage"): "LongStorage",
    }

    def find_class(self, module, name):
        if (module, name) not in self.ALLOWED:
            raise pickle.UnpicklingError(f"{module}.{name} has no place in a weights file")
        return self.ALLOWED[(module, name)]

    def persistent_load(self, pid):
        _, kind, key, _, count, _ = pid
        return _Storage(kind, key, count)


def read_pth(path):
    """Name to numpy array, strides honoured."""
    stream = io.BytesIO(open(path, "rb").read())
    for _ in range(3):  # magic number, protocol version, system info
        _Reader(stream).load()
    tensors = _Reader(stream).load()
    kinds = {t.storage.key: DTYPES[t.storage.kind] for t in tensors.values()}
    raw = {}
    for key in _Reader(stream).load():
        (count,) = struct.unpack("<q", stream.read(8))
        dtype = np.dtype(kinds[key])
        raw[key] = np.frombuffer(stream.read(count * dtype.itemsize), dtype)
    out = {}
    for name, t in tensors.items():
        base = raw[t.storage.key][t.offset:]
        strides = [s * base.itemsize for s in t.strides]
        out[name] = np.ascontiguousarray(np.lib.stride_tricks.as_strided(base, t.shape, strides))
    return out
