"""Makes golden models of the CLIP family: random weights, and what `transformers` makes of them.

    python recipes/golden/clip.py                # tiny ones, into crates/engine/tests/data
    python recipes/golden/clip.py --real FOLDER  # real shapes (2.5 GB), for the opt-in test:
    STITCH_CLIP_MODELS=FOLDER cargo nextest run --release --workspace -E 'test(real_shapes)'

Weights are drawn wide, so that different inputs have clearly different vectors: with the usual
narrow start every picture looks alike and a wrong reader would pass. The pictures are those of
recipes/golden/pictures.py; run that first.

Needs torch, transformers, tokenizers, pillow; made with 2.15, 5.22, 0.23, 13.0.
"""

import json
import sys
from pathlib import Path

import numpy as np
import torch
from PIL import Image
from tokenizers import Tokenizer, models, normalizers, pre_tokenizers, processors, trainers
from transformers import (
    CLIPConfig, CLIPImageProcessorPil, CLIPModel, Siglip2Config, Siglip2ImageProcessorPil, Siglip2Model,
    SiglipConfig, SiglipImageProcessorPil, SiglipModel,
)

DATA = Path(__file__).resolve().parents[2] / "crates/engine/tests/data"
PICTURES = ["smooth.png", "noise.png", "tall.png", "photo.jpg.png"]
TEXTS = [
    "chop the onion", "Chop the Onion!", "fry the onion in a pan until golden, then add salt.", "",
    "sand the board", "dig a hole twice as wide as the root ball", "stir " * 100, "crème brûlée 🍕",
]


def randomise(model, seed):
    generator = torch.Generator().manual_seed(seed)
    draw = lambda p: torch.randn(p.shape, generator=generator)
    with torch.no_grad():
        for name, p in model.named_parameters():
            if name.endswith("gamma"):
                p.copy_(0.5 + 0.1 * draw(p))
            elif p.dim() < 2:  # a weight of one dimension is a norm's
                p.copy_(0.1 * draw(p) + (1 if name.endswith("weight") else 0))
            elif "embedding" in name and "patch" not in name:
                p.copy_(0.5 * draw(p))
            else:
                p.copy_(1.2 * draw(p) / p[0].numel() ** 0.5)
    return model.eval()


def clip_tokenizer(longest_vocabulary=300):
    """Byte-level pieces with a start and an end token, as CLIP's; the end has the highest number."""
    tokenizer = Tokenizer(models.BPE(unk_token=None, end_of_word_suffix=""))
    tokenizer.normalizer = normalizers.Sequence([normalizers.NFC(), normalizers.Lowercase()])
    tokenizer.pre_tokenizer = pre_tokenizers.ByteLevel(add_prefix_space=False)
    alphabet = sorted(pre_tokenizers.ByteLevel.alphabet())
    trainer = trainers.BpeTrainer(vocab_size=longest_vocabulary - 2, initial_alphabet=alphabet)
    tokenizer.train_from_iterator(TEXTS, trainer)
    tokenizer.add_special_tokens(["<|startoftext|>", "<|endoftext|>"])
    start, end = (tokenizer.token_to_id(t) for t in ("<|startoftext|>", "<|endoftext|>"))
    tokenizer.post_processor = processors.TemplateProcessing(
        single="<|startoftext|> $A <|endoftext|>",
        special_tokens=[("<|startoftext|>", start), ("<|endoftext|>", end)])
    return tokenizer, end


def siglip_tokenizer():
    """Words with an end token; filled up with <pad>."""
    words = sorted({w for t in TEXTS for w in t.lower().translate(str.maketrans("", "", "!.,")).split()})
    vocabulary = {w: i for i, w in enumerate(["<pad>", "</s>", "<unk>", *words])}
    tokenizer = Tokenizer(models.WordLevel(vocabulary, unk_token="<unk>"))
    tokenizer.pre_tokenizer = pre_tokenizers.WhitespaceSplit()
    tokenizer.post_processor = processors.TemplateProcessing(
        single="$A </s>", special_tokens=[("</s>", 1)])
    return tokenizer


def siglip_ids(tokenizer, text, longest, plain):
    """As SigLIP's tokenizers: small letters, for the first one no punctuation, filled to the end."""
    import string
    text = text.lower()
    if plain:
        text = " ".join(text.translate(str.maketrans("", "", string.punctuation)).split())
    tokenizer.enable_truncation(longest)
    ids = tokenizer.encode(text).ids
    tokenizer.no_truncation()
    return ids + [0] * (longest - len(ids))


def picture(name):
    return Image.open(DATA / "pictures" / name).convert("RGB")


def rows(features):
    features = getattr(features, "pooler_output", features)
    features = features.double()
    return (features / features.norm(dim=-1, keepdim=True))[0].tolist()


def distinct(golden):
    """Cosines between different inputs; the test means little if they are all near 1."""
    for side in ("pictures", "texts"):
        table = np.array([g["row"] for g in golden[side]])
        cosines = table @ table.T - 2 * np.eye(len(table))
        print(f"  {side}: highest cosine of two different ones {np.sort(np.unique(cosines.round(4)))[-3:]}")


def write(folder, golden, digits):
    for side in golden.values():
        for item in side:
            item["row"] = [round(x, digits) for x in item["row"]]
    (folder / "golden.json").write_text(json.dumps(golden, ensure_ascii=False) + "\n")
    distinct(golden)


def clip(folder, text, vision, projection, legacy_end, tiny, seed):
    tokenizer, end = clip_tokenizer()
    vocabulary = tokenizer.get_vocab_size() if tiny else 49408
    config = CLIPConfig(
        text_config=dict(vocab_size=vocabulary, bos_token_id=end - 1, pad_token_id=1, projection_dim=projection,
                         eos_token_id=2 if legacy_end else end, **text),
        vision_config=dict(projection_dim=projection, **vision), projection_dim=projection)
    model = randomise(CLIPModel(config), seed)
    size = vision["image_size"]
    processor = CLIPImageProcessorPil(size={"shortest_edge": size}, crop_size={"height": size, "width": size})
    save(folder, model, processor, tokenizer, {"tokenizer_class": "CLIPTokenizer"})
    longest = text["max_position_embeddings"]
    tokenizer.enable_truncation(longest)
    with torch.no_grad():
        ids = lambda t: torch.tensor([tokenizer.encode(t).ids])
        texts = [dict(text=t, row=rows(model.get_text_features(ids(t)))) for t in TEXTS]
        seen = lambda n: model.get_image_features(**processor(picture(n), return_tensors="pt"))
        pictures = [dict(picture=n, row=rows(seen(n))) for n in PICTURES]
    write(folder, dict(texts=texts, pictures=pictures), 7)


def siglip(folder, text, vision, plain, tiny, seed, vocabulary=32000):
    tokenizer = siglip_tokenizer()
    vocabulary = tokenizer.get_vocab_size() if tiny else vocabulary
    config = SiglipConfig(text_config=dict(vocab_size=vocabulary, pad_token_id=0, eos_token_id=1, **text),
                          vision_config=vision)
    model = randomise(SiglipModel(config), seed)
    size = {"height": vision["image_size"], "width": vision["image_size"]}
    processor = SiglipImageProcessorPil(size=size, resample=3 if plain else 2)
    name = "SiglipTokenizer" if plain else "GemmaTokenizer"
    save(folder, model, processor, tokenizer, {"tokenizer_class": name, "padding_side": "right"})
    longest = text["max_position_embeddings"]
    with torch.no_grad():
        ids = lambda t: torch.tensor([siglip_ids(tokenizer, t, longest, plain)])
        texts = [dict(text=t, row=rows(model.get_text_features(ids(t)))) for t in TEXTS]
        seen = lambda n: model.get_image_features(**processor(picture(n), return_tensors="pt"))
        pictures = [dict(picture=n, row=rows(seen(n))) for n in PICTURES]
    write(folder, dict(texts=texts, pictures=pictures), 7)


def siglip2(folder, text, vision, tiny, seed, vocabulary=256000):
    """Free sizes; pictures are made square here, which is what the reader does."""
    tokenizer = siglip_tokenizer()
    vocabulary = tokenizer.get_vocab_size() if tiny else vocabulary
    config = Siglip2Config(text_config=dict(vocab_size=vocabulary, pad_token_id=0, eos_token_id=1, **text),
                           vision_config=vision)
    model = randomise(Siglip2Model(config), seed)
    patches, patch = vision["num_patches"], vision["patch_size"]
    processor = Siglip2ImageProcessorPil(patch_size=patch, max_num_patches=patches)
    save(folder, model, processor, tokenizer, {"tokenizer_class": "Siglip2Tokenizer", "padding_side": "right"})
    side, longest = round(patches ** 0.5) * patch, text["max_position_embeddings"]
    with torch.no_grad():
        ids = lambda t: torch.tensor([siglip_ids(tokenizer, t, longest, False)])
        texts = [dict(text=t, row=rows(model.get_text_features(ids(t)))) for t in TEXTS]
        square = lambda n: picture(n).resize((side, side), Image.BILINEAR)
        seen = lambda n: model.get_image_features(**processor(square(n), return_tensors="pt"))
        pictures = [dict(picture=n, row=rows(seen(n))) for n in PICTURES]
    write(folder, dict(texts=texts, pictures=pictures), 7)


def save(folder, model, processor, tokenizer, tokenizer_config):
    """Weights are kept in half precision, and the golden rows are of exactly those."""
    folder.mkdir(parents=True, exist_ok=True)
    model.half().save_pretrained(folder)
    model.float()
    (folder / "model.safetensors").chmod(0o644)
    processor.save_pretrained(folder)
    tokenizer.save(str(folder / "tokenizer.json"))
    (folder / "tokenizer_config.json").write_text(json.dumps(tokenizer_config) + "\n")


def layers(width, hidden, heads, count, **more):
    return dict(hidden_size=width, intermediate_size=hidden, num_attention_heads=heads, num_hidden_layers=count, **more)


def tiny():
    text = layers(32, 64, 2, 2, max_position_embeddings=20)
    eyes = layers(48, 96, 3, 2, image_size=32, patch_size=8)
    clip(DATA / "tiny-clip", text, eyes, 24, True, True, 1)
    exact = dict(hidden_act="gelu")
    clip(DATA / "tiny-clip-gelu", {**text, **exact}, {**eyes, **exact}, 24, False, True, 2)
    text = layers(32, 64, 2, 2, max_position_embeddings=12, projection_size=32)
    eyes = layers(32, 64, 2, 2, image_size=32, patch_size=8)
    siglip(DATA / "tiny-siglip", text, eyes, True, True, 3)
    eyes = layers(32, 64, 2, 2, num_patches=16, patch_size=8)
    siglip2(DATA / "tiny-siglip2", text, eyes, True, 4)


def real(folder, only):
    jobs = {
        "clip-vit-base-patch32": lambda f: clip(
            f, layers(512, 2048, 8, 12, max_position_embeddings=77), layers(768, 3072, 12, 12, image_size=224, patch_size=32),
            512, True, False, 11),
        "clip-vit-base-patch16": lambda f: clip(
            f, layers(512, 2048, 8, 12, max_position_embeddings=77), layers(768, 3072, 12, 12, image_size=224, patch_size=16),
            512, True, False, 12),
        "clip-vit-large-patch14": lambda f: clip(
            f, layers(768, 3072, 12, 12, max_position_embeddings=77), layers(1024, 4096, 16, 24, image_size=224, patch_size=14),
            768, True, False, 13),
        "siglip-base-patch16-224": lambda f: siglip(
            f, layers(768, 3072, 12, 12, max_position_embeddings=64, projection_size=768), layers(768, 3072, 12, 12, image_size=224, patch_size=16),
            True, False, 14),
        "siglip2-base-patch16-224": lambda f: siglip(
            f, layers(768, 3072, 12, 12, max_position_embeddings=64, projection_size=768), layers(768, 3072, 12, 12, image_size=224, patch_size=16),
            False, False, 15, vocabulary=256000),
        "siglip2-base-patch16-naflex": lambda f: siglip2(
            f, layers(768, 3072, 12, 12, max_position_embeddings=64, projection_size=768), layers(768, 3072, 12, 12, num_patches=256, patch_size=16),
            False, 16, vocabulary=32000),
    }
    for name, job in jobs.items():
        if only and name not in only:
            continue
        print(name)
        job(folder / name)


if __name__ == "__main__":
    if sys.argv[1:2] == ["--real"]:
        real(Path(sys.argv[2]), sys.argv[3:])
    else:
        tiny()
