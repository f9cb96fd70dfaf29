"""Makes the golden files of the picture resizing, in crates/engine/tests/data/pictures:

- NAME.png and NAME.FILTER.WIDTHxHEIGHT.png: a picture and what Pillow's resize makes of it;
- NAME.clip.SIZE.png: what the image processor of Hugging Face's CLIP makes of it before scaling
  (shortest edge, then the middle), by its own arithmetic on top of Pillow;
- photo.jpg, photo.webp and photo.jpg.png, photo.webp.png: decoding.

    python recipes/golden/pictures.py

Needs pillow, numpy and transformers; made with 13.0, 2.4 and 5.22.
"""

from pathlib import Path

import numpy as np
from PIL import Image

FOLDER = Path(__file__).resolve().parents[2] / "crates/engine/tests/data/pictures"
FILTERS = {"bilinear": Image.BILINEAR, "bicubic": Image.BICUBIC}
SIZES = [(16, 16), (61, 47), (5, 40), (38, 24), (3, 2), (1, 1)]


def noise(width, height):
    """Every value, hard edges: what resampling gets wrong first."""
    random = np.random.default_rng(width * 1000 + height)
    return Image.fromarray(random.integers(0, 256, (height, width, 3), dtype=np.uint8))


def smooth(width, height):
    """Slow changes with a bright disc, as in a photograph."""
    y, x = np.mgrid[:height, :width]
    planes = [255 * x / width, 255 * y / height, 127 + 120 * np.sin((x + 2 * y) / 9)]
    rgb = np.stack(planes, -1)
    rgb[(x - width / 3) ** 2 + (y - height / 2) ** 2 < (height / 4) ** 2] = (250, 240, 30)
    return Image.fromarray(rgb.astype(np.uint8))


def clip(picture, size):
    """CLIPImageProcessor without its scaling of values."""
    width, height = picture.size
    short, long = min(width, height), max(width, height)
    longer = int(size * long / short)
    width, height = (size, longer) if width <= height else (longer, size)
    picture = picture.resize((width, height), Image.BICUBIC)
    left, top = (width - size) // 2, (height - size) // 2
    return picture.crop((left, top, left + size, top + size))


def agrees_with_transformers(picture, size):
    from transformers import CLIPImageProcessorPil as Processor

    processor = Processor(size={"shortest_edge": size}, crop_size=size, do_rescale=False,
                          do_normalize=False)
    theirs = np.asarray(processor(picture, return_tensors="np")["pixel_values"][0])
    theirs = theirs.transpose(1, 2, 0)
    assert (theirs.round().astype(np.uint8) == np.asarray(clip(picture, size))).all()


def main():
    FOLDER.mkdir(parents=True, exist_ok=True)
    for name, picture in {"noise": noise(37, 23), "tall": noise(13, 45), "smooth": smooth(97, 51)}.items():
        picture.save(FOLDER / f"{name}.png", optimize=True)
        for filter_name, resample in FILTERS.items():
            for width, height in SIZES:
                path = FOLDER / f"{name}.{filter_name}.{width}x{height}.png"
                picture.resize((width, height), resample).save(path, optimize=True)
        for size in (16, 31):
            agrees_with_transformers(picture, size)
            clip(picture, size).save(FOLDER / f"{name}.clip.{size}.png", optimize=True)
    for kind, options in {"jpg": {"quality": 90}, "webp": {"quality": 90}}.items():
        path = FOLDER / f"photo.{kind}"
        smooth(97, 51).save(path, **options)
        Image.open(path).convert("RGB").save(FOLDER / f"photo.{kind}.png", optimize=True)


main()
