"""Makes small pairs of ONNX graphs for the tests of encoder.toml, in crates/engine/tests/data:

- onnx-pictures: pictures of 8 x 8, bilinear squash, normalised colours;
- onnx-clips: clips of 8 pictures, time before colours, so that their order matters;
- onnx-hub: the layout of the model hub, without an encoder.toml: graphs in `onnx/`, one with its weights in a file
  beside it, what they take in JSON files;
- onnx-unknown: a graph with an operator that nobody knows;

each with a tokenizer, an encoder.toml and what ONNX Runtime makes of some pictures and texts; and the smallest graph, which
crates/nn tries providers with.

    python recipes/golden/onnx_pairs.py

Needs onnx, onnxruntime, tokenizers, pillow, numpy; made with 1.23, 1.31, 0.23, 13.0, 2.4.
"""

import json
from pathlib import Path

import numpy as np
import onnx
import onnxruntime
from onnx import TensorProto, helper, numpy_helper
from PIL import Image
from tokenizers import Tokenizer, models, pre_tokenizers

DATA = Path(__file__).resolve().parents[2] / "crates/engine/tests/data"
TEXTS = ["chop the onion", "fry", "stir the pan", "nothing known here"]
PICTURES = ["smooth.png", "noise.png", "tall.png"]
DIM, SIDE, FRAMES = 4, 8, 8
MEAN, STD = np.array([0.4, 0.5, 0.6]), np.array([0.2, 0.25, 0.3])


def save(path, nodes, inputs, outputs, weights):
    graph = helper.make_graph(nodes, "tower", inputs, outputs, [numpy_helper.from_array(w, n) for n, w in weights.items()])
    model = helper.make_model(graph, opset_imports=[helper.make_opsetid("", 17)], ir_version=9)
    path.write_bytes(model.SerializeToString())


def floats(name, shape):
    return helper.make_tensor_value_info(name, TensorProto.FLOAT, shape)


def pictures(path, random, input="pixels", outputs=("image_embeds",)):
    weights = {"w": random.normal(size=(3 * 4, DIM)).astype(np.float32)}
    nodes = [
        helper.make_node("AveragePool", [input], ["pooled"], kernel_shape=[4, 4], strides=[4, 4]),
        helper.make_node("Flatten", ["pooled"], ["flat"], axis=1),
        helper.make_node("MatMul", ["flat", "w"], ["image_embeds"])]
    shapes = {"flat": ["n", 12], "image_embeds": ["n", DIM]}
    side = SIDE if input == "pixels" else "side"
    save(path, nodes, [floats(input, ["n", 3, side, side])], [floats(o, shapes[o]) for o in outputs], weights)


def clips(path, random):
    weights = {"w": random.normal(size=(FRAMES * 3, DIM)).astype(np.float32)}
    nodes = [
        helper.make_node("ReduceMean", ["video"], ["pooled"], axes=[3, 4], keepdims=0),
        helper.make_node("Flatten", ["pooled"], ["flat"], axis=1),
        helper.make_node("MatMul", ["flat", "w"], ["video_embeds"])]
    save(path, nodes, [floats("video", ["n", FRAMES, 3, SIDE, SIDE])], [floats("video_embeds", ["n", DIM])], weights)


def texts(path, random, words):
    weights = {"table": random.normal(size=(words, DIM)).astype(np.float32), "two": np.array([2], np.int64),
               "one": np.array([1], np.int64)}
    nodes = [
        helper.make_node("Gather", ["table", "input_ids"], ["rows"]),
        helper.make_node("Cast", ["attention_mask"], ["mask"], to=TensorProto.FLOAT),
        helper.make_node("Unsqueeze", ["mask", "two"], ["wide"]),
        helper.make_node("Mul", ["rows", "wide"], ["heard"]),
        helper.make_node("ReduceSum", ["heard", "one"], ["text_embeds"], keepdims=0)]
    ids = lambda name: helper.make_tensor_value_info(name, TensorProto.INT64, ["n", "length"])
    save(path, nodes, [ids("input_ids"), ids("attention_mask")], [floats("text_embeds", ["n", DIM])], weights)


def unknown(path):
    node = helper.make_node("Frobnicate", ["pixels"], ["image_embeds"])
    save(path, [node], [floats("pixels", ["n", 3, SIDE, SIDE])], [floats("image_embeds", ["n", DIM])], {})


def probe(path):
    """The graph by which crates/nn finds out whether a provider starts."""
    save(path, [helper.make_node("Identity", ["x"], ["y"])], [floats("x", [1])], [floats("y", [1])], {})


def tokenizer(folder):
    words = ["<pad>", "<unk>"] + sorted({w for t in TEXTS[:3] for w in t.split()})
    tokenizer = Tokenizer(models.WordLevel({w: i for i, w in enumerate(words)}, unk_token="<unk>"))
    tokenizer.pre_tokenizer = pre_tokenizers.WhitespaceSplit()
    tokenizer.save(str(folder / "tokenizer.json"))
    return tokenizer, len(words)


def planes(name):
    picture = Image.open(DATA / "pictures" / name).convert("RGB").resize((SIDE, SIDE), Image.BILINEAR)
    return ((np.asarray(picture) / 255 - MEAN) / STD).transpose(2, 0, 1).astype(np.float32)


def unit(row):
    return [round(float(x), 7) for x in row / np.linalg.norm(row)]


ABOUT = """# Made by recipes/golden/onnx_pairs.py.
dim = {dim}

[image]
file = "image.onnx"
input = "{input}"
output = "{output}"
width = {side}
height = {side}
frames = {frames}
fps = 8
layout = "{layout}"
fit = "squash"
filter = "bilinear"
mean = {mean}
std = {std}

[text]
file = "text.onnx"
input = "input_ids"
mask = "attention_mask"
output = "text_embeds"
tokenizer = "tokenizer.json"
longest = 6
fill = true
"""


def pair(name, make, input, output, frames, layout, seed):
    random, folder = np.random.default_rng(seed), DATA / name
    folder.mkdir(parents=True, exist_ok=True)
    words, count = tokenizer(folder)
    make(folder / "image.onnx", random)
    texts(folder / "text.onnx", random, count)
    about = ABOUT.format(dim=DIM, side=SIDE, input=input, output=output, frames=frames, layout=layout,
                         mean=MEAN.tolist(), std=STD.tolist())
    (folder / "encoder.toml").write_text(about)
    image, text = (onnxruntime.InferenceSession(folder / f) for f in ("image.onnx", "text.onnx"))

    def see(names):
        stack = np.stack([planes(n) for n in names])
        return unit(image.run(None, {input: stack if frames == 1 else stack[None]})[0][0])

    def read(t):
        ids = (words.encode(t).ids + [0] * 6)[:6]
        return unit(text.run(None, {"input_ids": [ids], "attention_mask": [[int(i != 0) for i in ids]]})[0][0])

    write_golden(folder, see, read, frames)


def write_golden(folder, see, read, frames):
    one = [[n] for n in PICTURES]
    several = [(PICTURES * 3)[i:i + 8] for i in range(2)]
    golden = dict(pictures=[dict(pictures=p, row=see(p)) for p in (one if frames == 1 else several)],
                  texts=[dict(text=t, row=read(t)) for t in TEXTS])
    (folder / "golden.json").write_text(json.dumps(golden) + "\n")


def cropped(name, crop):
    """As CLIP's image processor: the shorter side scaled, bicubic, the middle cut out."""
    picture = Image.open(DATA / "pictures" / name).convert("RGB")
    short = min(picture.size)
    width, height = (int(SIDE * s / short) for s in picture.size)
    picture = picture.resize((width, height), Image.BICUBIC)
    left, top = (width - SIDE) // 2, (height - SIDE) // 2
    picture = picture.crop((left, top, left + SIDE, top + SIDE))
    return ((np.asarray(picture) / 255 - crop["image_mean"]) / crop["image_std"]).transpose(2, 0, 1).astype(np.float32)


def hub(name, seed):
    """Two outputs, the wanted one second; texts of a fixed length, padded with a token that tokenizer_config names."""
    random, folder, length = np.random.default_rng(seed), DATA / name, 5
    (folder / "onnx").mkdir(parents=True, exist_ok=True)
    words, count = tokenizer(folder)
    prepared = dict(crop_size=dict(height=SIDE, width=SIDE), do_center_crop=True, do_normalize=True, do_resize=True,
                    image_mean=MEAN.tolist(), image_std=STD.tolist(), resample=3, size=dict(shortest_edge=SIDE))
    files = {"preprocessor_config": prepared, "config": dict(model_type="clip", text_config=dict(max_position_embeddings=length)),
             "tokenizer_config": dict(pad_token=dict(content="fry"), model_max_length=77)}
    for file, content in files.items():
        (folder / f"{file}.json").write_text(json.dumps(content, indent=1) + "\n")
    path = folder / "onnx/vision_model.onnx"
    pictures(path, random, "pixel_values", ["flat", "image_embeds"])
    (folder / "onnx/vision_model.onnx_data").unlink(missing_ok=True)
    onnx.save_model(onnx.load(path), path, save_as_external_data=True, location="vision_model.onnx_data", size_threshold=0)
    texts(folder / "onnx/text_model.onnx", random, count)
    image, text = (onnxruntime.InferenceSession(folder / "onnx" / f"{f}_model.onnx") for f in ("vision", "text"))
    pad = words.token_to_id("fry")

    def see(names):
        return unit(image.run(["image_embeds"], {"pixel_values": np.stack([cropped(n, prepared) for n in names])})[0][0])

    def read(t):
        ids = words.encode(t).ids[:length]
        missing = length - len(ids)
        inputs = {"input_ids": [ids + [pad] * missing], "attention_mask": [[1] * len(ids) + [0] * missing]}
        return unit(text.run(None, inputs)[0][0])

    write_golden(folder, see, read, 1)


if __name__ == "__main__":
    pair("onnx-pictures", pictures, "pixels", "image_embeds", 1, "NCHW", 1)
    pair("onnx-clips", clips, "video", "video_embeds", FRAMES, "NTCHW", 2)
    hub("onnx-hub", 3)
    (DATA / "onnx-unknown").mkdir(exist_ok=True)
    unknown(DATA / "onnx-unknown/image.onnx")
    probe(DATA.parents[2] / "nn/src/probe.onnx")
