"""Makes golden models of the CLIP family: random weights, and what `transformers` makes of them.

    python recipes/golden/clip.py                # tiny ones, into crates/engine/tests/data
    python recipes/golden/clip.py --real FOLDER  # real shapes (2.5 GB), for the opt-in test:
    STITCH_CLIP_MODELS=FOLDER cargo nextest run --release --workspace -E 'test(real_shapes)'

Weights are drawn wide, so that different inputs have clearly different vectors: with the usual
narrow start every picture looks alike and a wrong reader would pass. The pictures are those of
recipes/golden/pictures.py; run that first.

Needs torch, transformers, tokenizers, pillow; made with 2.15, 5.22, 0.23, 13.0. What is of MobileCLIP
needs timm (1.0) and, for --real, open_clip_torch (3.3) too, and is left out without them.
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

MOBILE = ["MobileCLIP-S1", "MobileCLIP-S2", "MobileCLIP-B", "MobileCLIP2-S0", "MobileCLIP2-S3", "MobileCLIP2-S4", "MobileCLIP2-L-14"]


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


def prepared(picture, size):
    """Resize and CenterCrop of torchvision on top of Pillow, but for half a pixel, which is cut off
    here as `transformers` does it."""
    width, height = picture.size
    longer = int(size * max(width, height) / min(width, height))
    width, height = (size, longer) if width <= height else (longer, size)
    picture = picture.resize((width, height), Image.BILINEAR)
    left, top = (width - size) // 2, (height - size) // 2
    picture = picture.crop((left, top, left + size, top + size))
    return torch.from_numpy(np.asarray(picture) / 255).permute(2, 0, 1).float()


def settle(model, inputs, seed):
    """Random weights for a network of convolutions, with the running means and spreads that it would
    have after training on these inputs. Without them so deep a network is chaotic or says the same of
    everything, and would not tell a right program from a wrong one."""
    generator = torch.Generator().manual_seed(seed)
    draw = lambda p: torch.randn(p.shape, generator=generator)
    with torch.no_grad():
        for key, p in model.named_parameters():
            if "gamma" in key:
                p.copy_(0.3 + 0.1 * draw(p))
            elif p.dim() == 1:
                p.copy_(0.1 * draw(p) + (1 if key.endswith("weight") else 0))
            elif key.endswith("cls_token") or key.endswith("pos_embed"):
                p.copy_(0.5 * draw(p))
            else:
                p.copy_(1.2 * draw(p) / p[0].numel() ** 0.5)
        for module in model.modules():
            if isinstance(module, torch.nn.BatchNorm2d):
                module.reset_running_stats()
                module.momentum = None
        model.train()
        model(inputs)
    return model.eval()


def mobile(folder, name, seed):
    """MobileCLIP in OpenCLIP's form."""
    import open_clip
    from safetensors.torch import save_file

    torch.manual_seed(seed)
    model = open_clip.create_model(name, pretrained=None)
    randomise(model.text, seed)
    text = open_clip.get_model_config(name)
    size, longest = text["vision_cfg"]["image_size"], text["text_cfg"]["context_length"]
    settle(model.visual, torch.stack([prepared(picture(n), size) for n in PICTURES]), seed)
    model.eval()
    tokenizer, end = clip_tokenizer()
    folder.mkdir(parents=True, exist_ok=True)
    tokenizer.save(str(folder / "tokenizer.json"))
    preprocess = dict(mean=[0, 0, 0], std=[1, 1, 1], interpolation="bilinear", resize_mode="shortest")
    config = dict(model_cfg=text, preprocess_cfg=preprocess)
    (folder / "open_clip_config.json").write_text(json.dumps(config))
    save_file({k: v.contiguous() for k, v in model.state_dict().items()}, folder / "open_clip_model.safetensors")
    tokenizer.enable_truncation(longest)
    with torch.no_grad():
        fill = lambda ids: torch.tensor([ids + [0] * (longest - len(ids))])
        texts = [dict(text=t, row=rows(model.encode_text(fill(tokenizer.encode(t).ids)))) for t in TEXTS]
        single = [rows(model.encode_image(prepared(picture(n), size)[None])) for n in PICTURES]
        model.visual.double()  # rounding is the reader's own, not the golden file's
        seen = lambda n: model.visual(prepared(picture(n), size)[None].double())
        pictures = [dict(picture=n, row=rows(seen(n))) for n in PICTURES]
    lowest = min(np.dot(a, b["row"]) for a, b in zip(single, pictures))
    print(f"  single precision against double: lowest cosine {lowest:.8f}")
    write(folder, dict(texts=texts, pictures=pictures), 7)


def small_towers():
    """The networks that MobileCLIP sees with, small, alone: weights, and rows for two pictures whose
    pixels follow from a formula."""
    from functools import partial
    from safetensors.torch import save_file
    from timm.layers import LayerNorm2d
    from timm.models.fastvit import FastVit, RepConditionalPosEnc
    from timm.models.vision_transformer import VisionTransformer
    from timm.models.vision_transformer_hybrid import ConvStem, HybridEmbed

    def pixels(side):
        n = torch.arange(2 * side * side * 3)
        values = (n * 7919 % 251 + n * n // 97 % 193).double() / 444
        return values.reshape(2, side, side, 3).permute(0, 3, 1, 2)

    place = partial(RepConditionalPosEnc, spatial_shape=(7, 7))
    mixers = ("repmixer",) * 3
    small = dict(layers=(1, 2, 1, 1), embed_dims=(8, 16, 32, 64), mlp_ratios=(3,) * 4, num_classes=12,
                 se_downsamples=(False, False, True, True), pos_embs=(None, None, None, place),
                 token_mixers=(*mixers, "attention"), lkc_use_act=True)
    large = dict(layers=(1, 1, 1, 1, 1), embed_dims=(8, 16, 32, 64, 128), mlp_ratios=(4,) * 5, num_classes=12,
                 se_downsamples=(False,) * 5, downsamples=(False, True, True, True, True),
                 pos_embs=(None, None, None, place, place), token_mixers=(*mixers, "attention", "attention"),
                 lkc_use_act=True, norm_layer=partial(LayerNorm2d, eps=1e-5), stem_use_scale_branch=False)
    stem = ConvStem(channels=(8, 8, 32), stride=(4, 2, 2), kernel_size=(4, 2, 2), padding=0, act_layer=torch.nn.GELU)
    vit = dict(img_size=32, num_classes=12, global_pool="token")
    hybrid = VisionTransformer(patch_size=1, embed_dim=32, depth=2, num_heads=2, no_embed_class=True, **vit,
                               embed_layer=partial(HybridEmbed, backbone=stem, proj=False))
    plain = VisionTransformer(patch_size=8, embed_dim=32, depth=2, num_heads=2, pre_norm=True, **vit,
                              norm_layer=partial(torch.nn.LayerNorm, eps=1e-5))
    folder = DATA.parents[2] / "nn/tests/data/tiny-mobileclip"
    folder.mkdir(exist_ok=True)
    towers = {"fastvit": (FastVit(**small), 64), "fastvit-large": (FastVit(**large), 64), "hybrid": (hybrid, 32), "plain": (plain, 32)}
    for seed, (name, (tower, side)) in enumerate(towers.items()):
        settle(tower, pixels(side).float(), 20 + seed)
        tower.half().float()
        state = {f"visual.trunk.{k}": v.half().contiguous() for k, v in tower.state_dict().items() if "num_batches" not in k}
        save_file(state, folder / f"{name}.safetensors")
        (folder / f"{name}.safetensors").chmod(0o644)
        with torch.no_grad():
            found = tower.double()(pixels(side))
        (folder / f"{name}.json").write_text(json.dumps([[round(x, 6) for x in row] for row in found.tolist()]) + "\n")
        a, b = found
        print(name, "cosine of the two pictures", float(a @ b / a.norm() / b.norm()))


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
    try:
        small_towers()
    except ImportError as error:
        print(f"left out: {error}")


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
        **{name: lambda f, name=name, seed=seed: mobile(f, name, seed) for seed, name in enumerate(MOBILE, 17)},
    }
    for name, job in jobs.items():
        if only and name not in only:
            continue
        print(name)
        try:
            job(folder / name)
        except ImportError as error:
            print(f"  left out: {error}")


if __name__ == "__main__":
    if sys.argv[1:2] == ["--real"]:
        real(Path(sys.argv[2]), sys.argv[3:])
    else:
        tiny()
