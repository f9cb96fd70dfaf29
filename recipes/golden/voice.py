"""Makes the weights of the voice detector and its golden file.

    python recipes/golden/voice.py WHEEL_FOLDER

WHEEL_FOLDER is an unpacked `silero-vad` wheel (MIT). Writes the weights in 16 bits to
crates/nn/assets/voice/silero.safetensors, and to crates/nn/tests/data/voice.json what the
original network (ONNX, 32 bits) says of each 32 ms of a made-up sound.
Needs: numpy, safetensors, onnx, onnxruntime.
"""

import json
import sys
from pathlib import Path

import numpy as np
import onnx
import onnx.numpy_helper
import onnxruntime
from safetensors.numpy import save_file

data = Path(sys.argv[1]) / "silero_vad" / "data"
root = Path(__file__).resolve().parents[2] / "crates" / "nn"

# The wheel's own safetensors file is of an older training; the graph has the newest numbers.
NAMES = {
    "model.stft.forward_basis_buffer": "stft_conv.weight",
    "model.decoder.decoder.2.weight": "final_conv.weight",
    "model.decoder.decoder.2.bias": "final_conv.bias",
    **{f"model.encoder.{i}.reparam_conv.{kind}": f"conv{i + 1}.{kind}" for i in range(4) for kind in ("weight", "bias")},
    **{f"model.decoder.rnn.{kind}_{half}": f"lstm_cell.{kind}_{half}" for kind in ("weight", "bias") for half in ("ih", "hh")},
}
graph = onnx.load(data / "silero_vad_16k_op15.onnx").graph
weights = {NAMES[t.name]: onnx.numpy_helper.to_array(t) for t in graph.initializer if t.name in NAMES}
save_file({k: v.astype(np.float16) for k, v in weights.items()}, root / "assets/voice/silero.safetensors")


def sound(seconds=6, rate=16000):
    """Buzz with moving formants in bursts (a caricature of speech), then noise, then silence."""
    t = np.arange(seconds * rate) / rate
    pitch = 120 + 30 * np.sin(2 * np.pi * 0.7 * t)
    phase = 2 * np.pi * np.cumsum(pitch) / rate
    out = np.zeros_like(t)
    for k in range(1, 30):
        f = k * pitch
        first, second = 500 + 300 * np.sin(2 * np.pi * 2.3 * t), 1500 + 600 * np.sin(2 * np.pi * 1.7 * t)
        gain = np.exp(-(((f - first) / 150) ** 2)) + 0.5 * np.exp(-(((f - second) / 200) ** 2))
        out += gain * np.sin(k * phase)
    burst = (np.sin(2 * np.pi * 3.1 * t) > -0.3) & (t < 4)
    hiss = ((np.arange(len(t)) * 2654435761 % 65536) / 32768 - 1) * 0.02 * (t >= 4) * (t < 5)
    return (0.2 * out * burst + hiss).astype(np.float32)


session = onnxruntime.InferenceSession(str(data / "silero_vad_16k_op15.onnx"))
state, before, shares = np.zeros((2, 1, 128), np.float32), np.zeros(64, np.float32), []
samples = np.round(sound() * 32767).astype(np.int16)
heard = samples.astype(np.float32) / 32768
for at in range(0, len(heard), 512):
    block = heard[at : at + 512]
    block = np.pad(block, (0, 512 - len(block)))
    inputs = {"input": np.concatenate([before, block])[None], "state": state, "sr": np.array(16000)}
    share, state = session.run(None, inputs)
    shares.append(round(float(share[0, 0]), 6))
    before = block[-64:]
samples.tofile(root / "tests/data/voice.s16")
(root / "tests/data/voice.json").write_text(json.dumps(shares))
print(len(shares), max(shares), min(shares), len(weights), sum(v.size for v in weights.values()))
