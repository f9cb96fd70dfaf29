"""Makes crates/engine/tests/data/tiny-xlmr: a small random XLM-RoBERTa with a Unigram tokenizer, and the
sentence vectors that the published architecture gives for some texts (golden.json: `row`), also when the same
tensors are read as a plain BERT, whose positions count from 0 (`bert`).

    python recipes/golden/make_tiny_xlmr.py                   # numpy, tokenizers, safetensors
    python recipes/golden/make_tiny_xlmr.py --transformers    # compares with transformers, writes nothing

The reference below is written from the papers in 64 bits and shares nothing with the Rust code.
"""

import argparse
import json
import math
from pathlib import Path

import numpy as np
from safetensors.numpy import load_file, save_file
from tokenizers import Tokenizer, models, normalizers, pre_tokenizers, processors

FOLDER = Path(__file__).resolve().parents[2] / "crates/engine/tests/data/tiny-xlmr"
PREFIX = "roberta."
DIM, LAYERS, HEADS, WIDE, POSITIONS, MAX_TOKENS, PAD = 32, 2, 4, 64, 40, 36, 1
EPS = 1e-5

SPECIAL = ["<s>", "<pad>", "</s>", "<unk>"]
WORDS = ["▁the", "▁onion", "▁chop", "▁fry", "▁pan", "▁die", "▁Zwiebel", "▁schneiden", "▁лук", "▁Нарежьте",
         "▁البصل", "▁قطع", "洋葱", "切", "▁é", "ieb", "on", "en", "ch", "sch"]
CHARACTERS = "▁abcdefghijklmnopqrstuvwxyzZNäöüßé.,0123456789лукНарежтьقطعالبص"

TEXTS = ["chop the onion.", "die Zwiebel schneiden", "Нарежьте лук", "قطع البصل", "切洋葱", "", "crème brûlée 🍕",
         "chop the лук, 切 the Zwiebel", "fry the onion in the pan, " * 8]


def tokenizer():
    pieces = [(piece, 0.0) for piece in SPECIAL]
    pieces += [(word, -2.0 - 0.01 * i) for i, word in enumerate(WORDS)]
    known = {piece for piece, _ in pieces}
    singles = [c for c in dict.fromkeys(CHARACTERS) if c not in known]
    pieces += [(c, -6.0 - 0.01 * i) for i, c in enumerate(singles)]
    made = Tokenizer(models.Unigram(pieces, unk_id=3, byte_fallback=False))
    made.normalizer = normalizers.NFKC()
    made.pre_tokenizer = pre_tokenizers.Sequence(
        [pre_tokenizers.WhitespaceSplit(), pre_tokenizers.Metaspace("▁", prepend_scheme="always")])
    made.post_processor = processors.TemplateProcessing(
        single="<s> $A </s>", special_tokens=[("<s>", 0), ("</s>", 2)])
    made.add_special_tokens(SPECIAL)
    return made, len(pieces)


def random_weights(vocabulary):
    rng = np.random.default_rng(11)
    shapes = {
        "embeddings.word_embeddings.weight": (vocabulary, DIM),
        "embeddings.position_embeddings.weight": (POSITIONS, DIM),
        "embeddings.token_type_embeddings.weight": (2, DIM),
        "embeddings.LayerNorm.weight": (DIM,), "embeddings.LayerNorm.bias": (DIM,),
    }
    for layer in range(LAYERS):
        parts = {"attention.self.query": (DIM, DIM), "attention.self.key": (DIM, DIM),
                 "attention.self.value": (DIM, DIM), "attention.output.dense": (DIM, DIM),
                 "attention.output.LayerNorm": (DIM,), "intermediate.dense": (WIDE, DIM),
                 "output.dense": (DIM, WIDE), "output.LayerNorm": (DIM,)}
        for name, shape in parts.items():
            shapes[f"encoder.layer.{layer}.{name}.weight"] = shape
            shapes[f"encoder.layer.{layer}.{name}.bias"] = shape[:1]
    tensors = {}
    for name, shape in shapes.items():
        values = 0.3 * rng.standard_normal(shape)
        if name.endswith("LayerNorm.weight"):
            values += 1.0  # plain ones and zeros would hide mistakes
        tensors[name] = values.astype(np.float16)
    return tensors


def config(vocabulary, model_type):
    return {"model_type": model_type, "hidden_act": "gelu", "position_embedding_type": "absolute",
            "vocab_size": vocabulary, "hidden_size": DIM, "num_hidden_layers": LAYERS,
            "num_attention_heads": HEADS, "intermediate_size": WIDE, "max_position_embeddings": POSITIONS,
            "type_vocab_size": 2, "layer_norm_eps": EPS, "pad_token_id": PAD}


def layer_norm(x, weight, bias):
    centred = x - x.mean(-1, keepdims=True)
    return centred / np.sqrt((centred ** 2).mean(-1, keepdims=True) + EPS) * weight + bias


def gelu(x):
    return x * 0.5 * (1.0 + np.vectorize(math.erf)(x / math.sqrt(2.0)))


def softmax(x):
    e = np.exp(x - x.max(-1, keepdims=True))
    return e / e.sum(-1, keepdims=True)


def embed(w, ids, first_position):
    """The vector of length 1 for one text without padding."""
    linear = lambda x, name: x @ w[name + ".weight"].T + w[name + ".bias"]
    norm = lambda x, name: layer_norm(x, w[name + ".weight"], w[name + ".bias"])
    places = np.arange(len(ids)) + first_position
    x = (w["embeddings.word_embeddings.weight"][ids] + w["embeddings.position_embeddings.weight"][places]
         + w["embeddings.token_type_embeddings.weight"][0])
    x = norm(x, "embeddings.LayerNorm")
    for layer in range(LAYERS):
        at = f"encoder.layer.{layer}."
        split = lambda y: y.reshape(len(ids), HEADS, DIM // HEADS).transpose(1, 0, 2)
        q, k, v = (split(linear(x, at + "attention.self." + part)) for part in ("query", "key", "value"))
        attended = softmax(q @ k.transpose(0, 2, 1) / math.sqrt(DIM // HEADS)) @ v
        attended = attended.transpose(1, 0, 2).reshape(len(ids), DIM)
        x = norm(linear(attended, at + "attention.output.dense") + x, at + "attention.output.LayerNorm")
        hidden = gelu(linear(x, at + "intermediate.dense"))
        x = norm(linear(hidden, at + "output.dense") + x, at + "output.LayerNorm")
    mean = x.mean(0)
    return mean / np.linalg.norm(mean)


def truncated(tokenizer, text):
    ids = tokenizer.encode(text).ids
    return ids if len(ids) <= MAX_TOKENS else ids[:MAX_TOKENS - 1] + ids[-1:]


def golden(tokenizer, tensors):
    w = {name: tensor.astype(np.float64) for name, tensor in tensors.items()}
    rows = []
    for text in TEXTS:
        ids = truncated(tokenizer, text)
        row, bert = embed(w, ids, PAD + 1), embed(w, ids, 0)
        rows.append({"text": text, "row": row.tolist(), "bert": bert.tolist()})
    return rows


def write():
    FOLDER.mkdir(parents=True, exist_ok=True)
    made, vocabulary = tokenizer()
    tensors = random_weights(vocabulary)
    made.save(str(FOLDER / "tokenizer.json"), pretty=False)
    save_file({PREFIX + name: tensor for name, tensor in tensors.items()}, FOLDER / "model.safetensors")
    (FOLDER / "config.json").write_text(json.dumps(config(vocabulary, "xlm-roberta"), indent=2) + "\n")
    (FOLDER / "sentence_bert_config.json").write_text(json.dumps({"max_seq_length": MAX_TOKENS}) + "\n")
    (FOLDER / "1_Pooling").mkdir(exist_ok=True)
    pooling = {"word_embedding_dimension": DIM, "pooling_mode_cls_token": False,
               "pooling_mode_mean_tokens": True, "pooling_mode_max_tokens": False}
    (FOLDER / "1_Pooling/config.json").write_text(json.dumps(pooling) + "\n")
    shorter = [{"text": g["text"], "row": [round(x, 7) for x in g["row"]],
                "bert": [round(x, 7) for x in g["bert"]]} for g in golden(made, tensors)]
    (FOLDER / "golden.json").write_text(json.dumps(shorter, ensure_ascii=False) + "\n")


def compare():
    """The files and the reference against transformers."""
    import torch
    from transformers import BertConfig, BertModel, XLMRobertaConfig, XLMRobertaModel

    made = Tokenizer.from_file(str(FOLDER / "tokenizer.json"))
    stored = load_file(FOLDER / "model.safetensors")
    tensors = {name.removeprefix(PREFIX): tensor for name, tensor in stored.items()}
    state = {name: torch.from_numpy(tensor.astype(np.float32)) for name, tensor in tensors.items()}
    read = json.loads((FOLDER / "golden.json").read_text())
    known = config(state["embeddings.word_embeddings.weight"].shape[0], "")
    known.pop("model_type")
    known.pop("position_embedding_type")
    kinds = {"row": (XLMRobertaConfig, XLMRobertaModel), "bert": (BertConfig, BertModel)}
    for field, (config_class, model_class) in kinds.items():
        model = model_class(config_class(**known), add_pooling_layer=False).eval()
        missing, unexpected = model.load_state_dict(state, strict=False)
        assert not unexpected and all("position_ids" in name or "token_type_ids" in name for name in missing)
        for g, ours in zip(read, golden(made, tensors)):
            ids = torch.tensor([truncated(made, g["text"])])
            with torch.no_grad():
                mean = model(input_ids=ids, attention_mask=torch.ones_like(ids)).last_hidden_state[0].mean(0)
            theirs = (mean / mean.norm()).numpy()
            for name, rows in (("numpy", ours[field]), ("golden.json", g[field])):
                apart = np.abs(theirs - np.array(rows)).max()
                assert apart < 1e-5, (field, name, g["text"], apart)
    print(f"{len(read)} texts agree with transformers for {', '.join(kinds)}")


if __name__ == "__main__":
    parser = argparse.ArgumentParser()
    parser.add_argument("--transformers", action="store_true", help="compare instead of writing")
    compare() if parser.parse_args().transformers else write()
