"""Makes the golden files of the sentence encoder, in crates/engine/tests/data:

- mpnet.json, mpnet.safetensors: 50 texts and what sentence-transformers makes of them (f16);
- tiny-mpnet/: a small random MPNet with its tokenizer, and what transformers makes of some texts.

    python recipes/golden/mpnet.py MODEL_FOLDER    # the folder of all-mpnet-base-v2

Needs torch, transformers, tokenizers, sentence-transformers; made with 2.15, 5.22, 0.23, 6.2.
"""

import json
import sys
from pathlib import Path

import numpy as np
import torch
from safetensors.numpy import save_file
from sentence_transformers import SentenceTransformer
from sentence_transformers.sentence_transformer.modules import Pooling, Transformer
from tokenizers import Tokenizer, models, normalizers, pre_tokenizers, processors
from transformers import MPNetConfig, MPNetModel

DATA = Path(__file__).resolve().parents[2] / "crates/engine/tests/data"

SENTENCES = [
    "Chop the onion into small pieces.", "Dice the onion finely", "Fry the onion until golden.",
    "Add the tofu to the pan and crumble it with a fork.", "Warm the tortillas in a dry pan",
    "Season with cumin, paprika and salt", "Whisk two eggs with a pinch of salt.",
    "Pour the batter into a hot, buttered pan", "Flip the pancake when bubbles form",
    "Preheat the oven to 180 °C (350 °F).", "Knead the dough for 10 minutes", "Let the dough rest.",
    "Sand the board with 120-grit paper, then 240.", "Glue and clamp the joint for an hour",
    "Drill a pilot hole", "Cut the plank to 30 cm", "Apply two coats of varnish.",
    "Measure twice, cut once!", "Saw along the pencil line", "Hammer in the nails",
    "Dig a hole twice as wide as the root ball.", "Water the seedlings every morning",
    "Prune the roses in late winter", "Mulch around the tomato plants", "Sow carrots 1 cm deep",
    "Hello everyone and welcome back to my channel", "Don't forget to like and subscribe!",
    "so um yeah basically you just kind of stir it", "", " ", ".", "?!", "a", "42",
    "CHOP THE ONION", "chop   the\n\tonion", "Crème brûlée à la carte", "Zwiebeln fein hacken.",
    "切洋葱", "Нарежьте лук", "قطّع البصل", "🍕🔪 slice the pizza 🍕", "naïve café – “quotes” … ½ cup",
    "supercalifragilisticexpialidocious pneumonoultramicroscopicsilicovolcanoconiosis",
    "https://example.org/recipe?id=3&step=2", "<s> not a special token </s> <mask>",
    "Stir the sauce. " * 8, "Add one cup of rice and two cups of water, then simmer. " * 20,
    "Repeat this step until the bowl is empty and every dumpling is closed. " * 60,
    "x " * 500,
]

WORDS = "the onion chop fry pan add salt stir water cut board sand drill dig plant a and in".split()


def normalised(rows):
    rows = np.asarray(rows, np.float64)
    return (rows / np.linalg.norm(rows, axis=1, keepdims=True)).astype(np.float32)


def real(folder):
    transformer = Transformer(folder, max_seq_length=384)
    model = SentenceTransformer(modules=[transformer, Pooling(768, "mean")], device="cpu")
    rows = normalised(model.encode(SENTENCES, batch_size=1))
    (DATA / "mpnet.json").write_text(json.dumps(SENTENCES, ensure_ascii=False, indent=0) + "\n")
    save_file({"sentences": rows.astype(np.float16)}, DATA / "mpnet.safetensors")


def tiny_tokenizer():
    letters = [chr(c) for c in range(ord("a"), ord("z") + 1)]
    vocabulary = ["<s>", "<pad>", "</s>", "<unk>", "[UNK]", "."]
    vocabulary += letters + ["##" + letter for letter in letters]
    vocabulary += [word for word in WORDS if word not in vocabulary]
    ids = {word: number for number, word in enumerate(vocabulary)}
    tokenizer = Tokenizer(models.WordPiece(ids, unk_token="[UNK]"))
    tokenizer.normalizer = normalizers.BertNormalizer()
    tokenizer.pre_tokenizer = pre_tokenizers.BertPreTokenizer()
    tokenizer.post_processor = processors.RobertaProcessing(("</s>", 2), ("<s>", 0))
    return tokenizer, len(vocabulary)


def tiny():
    folder = DATA / "tiny-mpnet"
    folder.mkdir(parents=True, exist_ok=True)
    tokenizer, size = tiny_tokenizer()
    torch.manual_seed(7)
    config = MPNetConfig(
        vocab_size=size, hidden_size=32, num_hidden_layers=2, num_attention_heads=4,
        intermediate_size=64, max_position_embeddings=200, pad_token_id=1, initializer_range=0.3,
        layer_norm_eps=1e-5,
    )
    model = MPNetModel(config, add_pooling_layer=False).eval()
    for name, tensor in model.named_parameters():
        if name.endswith("bias") or "LayerNorm" in name:  # zeros and ones would hide mistakes
            tensor.data += 0.3 * torch.randn_like(tensor)
    texts = ["Chop the onion.", "fry the onion in a pan and add salt", "", "é zwiebel 9",
             "stir " * 30, "sand the board, drill the board, cut the board. " * 8, "x" * 150]
    rows = []
    for text in texts:
        ids = torch.tensor([tokenizer.encode(text).ids[:150]])
        if len(tokenizer.encode(text).ids) > 150:
            ids[0, -1] = 2
        with torch.no_grad():
            rows.append(model(input_ids=ids).last_hidden_state[0].mean(0).numpy())
    weights = {k: v.numpy() for k, v in model.state_dict().items() if "position_ids" not in k}
    save_file(weights, folder / "model.safetensors")
    tokenizer.save(str(folder / "tokenizer.json"))
    keep = ["vocab_size", "hidden_size", "num_hidden_layers", "num_attention_heads",
            "intermediate_size", "max_position_embeddings", "relative_attention_num_buckets",
            "layer_norm_eps", "pad_token_id"]
    plain = {key: getattr(config, key) for key in keep}
    (folder / "config.json").write_text(json.dumps(plain, indent=2) + "\n")
    (folder / "sentence_bert_config.json").write_text('{"max_seq_length": 150}\n')
    golden = [{"text": text, "row": [round(float(x), 7) for x in row]}
              for text, row in zip(texts, normalised(rows))]
    (folder / "golden.json").write_text(json.dumps(golden) + "\n")


if __name__ == "__main__":
    assert len(SENTENCES) == 50
    tiny()
    real(sys.argv[1])
