"""The files of Fashion-MNIST for the scripts that train on it, and the part that is shipped.

Debian's package `dataset-fashion-mnist` installs them in /usr/share/datasets/fashion-mnist.
"""

from __future__ import annotations

import gzip
from pathlib import Path

import numpy as np
from cloakwork.models.stored import pack
from numpy.typing import NDArray

FOLDER = Path("/usr/share/datasets/fashion-mnist")
SOURCE = (
    "Fashion-MNIST, H. Xiao, K. Rasul and R. Vollgraf, 2017, arXiv:1708.07747, "
    "https://github.com/zalandoresearch/fashion-mnist (which Debian ships as dataset-fashion-mnist)"
)
LICENCE = "MIT, Copyright 2017 Zalando SE, https://tech.zalando.com"
CLASSES = (
    "t-shirt", "trousers", "pullover", "dress", "coat", "sandal", "shirt", "sneaker", "bag", "boot",
)  # fmt: skip

STORED_IMAGES = 1000

Bytes = NDArray[np.uint8]


def load(folder: Path, part: str) -> tuple[Bytes, Bytes]:
    """Images uint8 [n, 28, 28] and labels uint8 [n] of the part `train` or `t10k`."""
    images = _idx(folder / f"{part}-images-idx3-ubyte.gz")
    labels = _idx(folder / f"{part}-labels-idx1-ubyte.gz")
    if images.ndim != 3 or labels.shape != images.shape[:1]:
        raise SystemExit(f"{folder}: expected a label per image, found {labels.shape}")
    return images, labels


def store(folder: Path, out: Path) -> None:
    """Write `fashion.zip`: the first 1000 test images."""
    images, labels = load(folder, "t10k")
    arrays = {"images": images[:STORED_IMAGES], "labels": labels[:STORED_IMAGES]}
    texts = {"names": CLASSES, "source": SOURCE, "licence": LICENCE}
    pack(out / "fashion.zip", arrays, texts)


def _idx(path: Path) -> Bytes:
    """An array of bytes in the IDX format: two zeros, type 8, axes, lengths, elements."""
    if not path.is_file():
        raise SystemExit(f"{path}: no such file; on Debian: apt-get install dataset-fashion-mnist")
    contents = gzip.decompress(path.read_bytes())
    axes = contents[3]
    if contents[:3] != b"\0\0\x08" or len(contents) < 4 + 4 * axes:
        raise SystemExit(f"{path}: not an IDX file of bytes")
    lengths = np.frombuffer(contents, ">u4", axes, 4).astype(np.int64)
    return np.frombuffer(contents, np.uint8, offset=4 + 4 * axes).reshape(lengths)
