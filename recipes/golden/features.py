"""Makes the files of features that the reader is tested with, in crates/engine/tests/data/features.

Every file holds the rows 0, 1, 2, ... of 5 x 3, in another form. `objects.npy` is a pickle.

    python recipes/golden/features.py

Needs numpy, h5py, safetensors; made with 2.4, 3.16, 0.8.
"""

from pathlib import Path

import h5py
import numpy as np
from safetensors.numpy import save_file

FOLDER = Path(__file__).resolve().parents[2] / "crates/engine/tests/data/features"


def main():
    FOLDER.mkdir(parents=True, exist_ok=True)
    rows = np.arange(15, dtype=np.float32).reshape(5, 3)
    for kind in ("<f2", "<f4", ">f4", "<f8"):
        np.save(FOLDER / f"plain-{kind[1:]}{'-big' if kind[0] == '>' else ''}.npy", rows.astype(kind))
    np.save(FOLDER / "columns.npy", np.asfortranarray(rows))
    np.save(FOLDER / "clips.npy", rows[None, :, :, None])
    np.save(FOLDER / "objects.npy", np.array([{"a": 1}], dtype=object), allow_pickle=True)
    np.save(FOLDER / "integers.npy", rows.astype(np.int32))
    np.save(FOLDER / "cube.npy", np.zeros((2, 3, 4), np.float32))
    np.savez(FOLDER / "stored.npz", features=rows, times=np.arange(5.0))
    np.savez_compressed(FOLDER / "packed.npz", rows)
    save_file({"features": rows.astype(np.float16)}, FOLDER / "half.safetensors")
    with h5py.File(FOLDER / "packed.h5", "w") as file:
        file.create_dataset("features", data=rows, compression="gzip", chunks=(2, 3), shuffle=True)
    with h5py.File(FOLDER / "half.hdf5", "w") as file:
        file.create_dataset("features", data=rows.astype(np.float16))
    with h5py.File(FOLDER / "several.h5", "w") as file:
        for name in ("first", "second"):
            file.create_dataset(name, data=rows)


main()
