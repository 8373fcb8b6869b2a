"""Train four small networks on digits and on Fashion-MNIST, and export them as ONNX.

    python -m scripts.train_networks [NAME ...] [--data FOLDER] [--out python/cloakwork/models/data]

Needs torch (2.15 was used), onnx, and Debian's package `dataset-fashion-mnist`; the digits and
their split are those of `data/digits.zip`.  Writes a file per network and `fashion.zip`, the first
1000 test images of Fashion-MNIST.

    digits_mlp    64 - 128 - 64 - 10 with ReLU
    digits_cnn    two convolutions with ReLU and average pools, on 8 x 8 pixels
    fashion_mlp   784 - 128 - 128 - 10 with ReLU
    fashion_cnn   a convolution, squares and two layers: the shape of LoLA's network for MNIST
                  (A. Brutzkus et al., arXiv:1812.10659)

A penalty on inputs of ReLU and of squares beyond +-LIMIT keeps them where a polynomial follows the
function.  Weights are rounded to float16 and stored as float32: the zeros at their ends compress.
Settings were chosen on a fifth of the images to train on; test images only print the accuracy.
"""

from __future__ import annotations

import argparse
from collections.abc import Callable
from dataclasses import dataclass
from itertools import count, pairwise
from pathlib import Path

import numpy as np
import torch
from cloakwork.models import load_digits
from numpy.typing import NDArray
from torch import Tensor, nn
from torch.nn import functional

from scripts import fashion
from scripts.onnx_graphs import OnnxGraph

SEED = 20240917
LIMIT = 6.0
PENALTY = 1e-2


class Square(nn.Module):
    def forward(self, x: Tensor) -> Tensor:
        return x * x


@dataclass(frozen=True)
class Network:
    """A network with the settings that trained it; `mirrored`: half of the images are."""

    build: Callable[[], nn.Sequential]
    data: str
    epochs: int
    rate: float
    decay: float
    mirrored: bool


def multilayer(*sizes: int) -> nn.Sequential:
    layers: list[nn.Module] = [nn.Flatten()]
    for given, taken in pairwise(sizes):
        layers += [nn.Linear(given, taken), nn.ReLU()]
    return nn.Sequential(*layers[:-1])


def digits_cnn() -> nn.Sequential:
    return nn.Sequential(
        nn.Conv2d(1, 8, 3, padding=1), nn.ReLU(), nn.AvgPool2d(2),
        nn.Conv2d(8, 16, 3, padding=1), nn.ReLU(), nn.AvgPool2d(2),
        nn.Flatten(), nn.Linear(64, 10),
    )  # fmt: skip


def lola() -> nn.Sequential:
    return nn.Sequential(
        nn.Conv2d(1, 5, 5, stride=2, padding=2), Square(), nn.Flatten(),
        nn.Linear(980, 100), Square(), nn.Linear(100, 10),
    )  # fmt: skip


NETWORKS = {
    "digits_mlp": Network(lambda: multilayer(64, 128, 64, 10), "digits", 100, 3e-3, 5e-2, False),
    "digits_cnn": Network(digits_cnn, "digits", 150, 1e-2, 1e-2, False),
    "fashion_mlp": Network(lambda: multilayer(784, 128, 128, 10), "fashion", 15, 2e-3, 2e-2, True),
    "fashion_cnn": Network(lola, "fashion", 15, 2e-3, 2e-2, True),
}


@dataclass(frozen=True)
class Images:
    """Images [n, 1, height, width], 0 to 1, and labels [n]; first those to train on."""

    pixels: Tensor
    labels: Tensor
    train: int
    source: str
    licence: str


def digits() -> Images:
    held = load_digits()
    order = np.concatenate((held.train_index, held.test_index))
    pixels = torch.from_numpy(held.images[order].reshape(-1, 1, 8, 8)).float()
    labels = torch.from_numpy(held.labels[order])
    return Images(pixels, labels, len(held.train_index), held.source, held.licence)


def fashion_images(folder: Path) -> Images:
    parts = [fashion.load(folder, part) for part in ("train", "t10k")]
    pixels, labels = (np.concatenate(arrays) for arrays in zip(*parts, strict=True))
    return Images(
        torch.from_numpy(pixels).float()[:, None] / 255, torch.from_numpy(labels).long(),
        len(parts[0][0]), fashion.SOURCE, fashion.LICENCE,
    )  # fmt: skip


def activations(network: nn.Sequential, x: Tensor) -> tuple[list[Tensor], Tensor]:
    """Inputs of the nonlinear layers, and logits."""
    found = []
    for layer in network:
        if isinstance(layer, nn.ReLU | Square):
            found.append(x)
        x = layer(x)
    return found, x


def mirrored(images: Tensor) -> Tensor:
    """The images, half of them mirrored."""
    chosen = torch.rand(len(images), 1, 1, 1) < 0.5
    return torch.where(chosen, images.flip(3), images)


def train(images: Images, recipe: Network) -> nn.Sequential:
    """AdamW with a rate that rises for a tenth of the time, then falls."""
    torch.manual_seed(SEED)
    network = recipe.build()
    size = 128 if images.train > 10000 else 32
    steps = recipe.epochs * -(-images.train // size)
    optimizer = torch.optim.AdamW(network.parameters(), recipe.rate, weight_decay=recipe.decay)
    schedule = torch.optim.lr_scheduler.OneCycleLR(
        optimizer, recipe.rate, steps, pct_start=0.1, cycle_momentum=False
    )
    for _ in range(recipe.epochs):
        for batch in torch.randperm(images.train).split(size):
            pixels = images.pixels[batch]
            inner, logits = activations(network, mirrored(pixels) if recipe.mirrored else pixels)
            beyond = sum(functional.relu(x.abs() - LIMIT).square().sum() for x in inner)
            loss = functional.cross_entropy(logits, images.labels[batch])
            optimizer.zero_grad()
            (loss + PENALTY * beyond / len(batch)).backward()
            optimizer.step()
            schedule.step()
    with torch.no_grad():
        for parameter in network.parameters():
            parameter.copy_(parameter.half().float())
    return network.eval()


@torch.no_grad()
def describe(network: nn.Sequential, images: Images) -> str:
    inner, logits = activations(network, images.pixels)
    right = (logits.argmax(dim=1) == images.labels).float()
    largest = ", ".join(f"{float(x.abs().max()):.1f}" for x in inner)
    return (
        f"train {float(right[: images.train].mean()):.4f}  "
        f"test {float(right[images.train :].mean()):.4f}  largest |inputs| {largest}"
    )


def to_onnx(name: str, network: nn.Sequential, images: Images) -> bytes:
    """The network's layers as nodes of the same order."""
    graph = OnnxGraph(name, "pixels", tuple(images.pixels.shape[1:]))
    value, numbers = "pixels", count(1)
    for layer in network:
        label = f"{type(layer).__name__.lower()}_{next(numbers)}"
        match layer:
            case nn.Linear():
                value = graph.gemm(label, value, array(layer.weight), array(layer.bias))
            case nn.Conv2d():
                weight, bias = array(layer.weight), array(layer.bias)
                value = graph.conv(label, value, weight, bias, layer.stride[0])
            case nn.AvgPool2d():
                sides = [int(layer.kernel_size)] * 2
                value = graph.add("AveragePool", label, value, kernel_shape=sides, strides=sides)
            case nn.Flatten():
                value = graph.add("Flatten", label, value)
            case nn.ReLU():
                value = graph.add("Relu", label, value)
            case Square():
                value = graph.add("Mul", label, value, value)
    return graph.contents(value, (10,), source=images.source, licence=images.licence)


def array(parameter: Tensor) -> NDArray[np.float32]:
    return parameter.detach().numpy()


def main() -> None:
    parser = argparse.ArgumentParser(description="Train and export the small networks.")
    parser.add_argument("names", nargs="*", default=list(NETWORKS), metavar="NAME")
    parser.add_argument("--data", type=Path, default=fashion.FOLDER)
    parser.add_argument("--out", type=Path, default=Path("python/cloakwork/models/data"))
    options = parser.parse_args()
    torch.set_num_threads(1)
    for name in options.names:
        recipe = NETWORKS[name]
        images = digits() if recipe.data == "digits" else fashion_images(options.data)
        network = train(images, recipe)
        print(name, describe(network, images), flush=True)
        (options.out / f"{name}.onnx").write_bytes(to_onnx(name, network, images))
    fashion.store(options.data, options.out)


if __name__ == "__main__":
    main()
