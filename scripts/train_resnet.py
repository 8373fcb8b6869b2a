"""Train ResNet-20 for images of 3 x 32 x 32 pixels, and export it as ONNX.

    python -m scripts.train_resnet [--data FOLDER] [--out python/cloakwork/models/data]

Needs torch (2.15 was used; 14 epochs take half an hour of one core with AVX-512 BF16), onnx, and
Debian's package `dataset-fashion-mnist`.  Writes `resnet20.onnx`.

The network is that of K. He et al., arXiv:1512.03385, section 4.2, with n = 3 and shortcuts without
parameters (option A): the network that is known for CIFAR-10.  CIFAR-10 states no licence, so it
learns Fashion-MNIST: grey images of 28 x 28 pixels in a frame of zeros, three equal channels.

Batch normalisation is folded into the convolutions.  A penalty on inputs of ReLU beyond +-LIMIT
keeps them where a polynomial follows the function.  Weights are rounded to float16 and stored as
float32: the zeros at their ends compress.
"""

from __future__ import annotations

import argparse
from itertools import pairwise
from pathlib import Path
from time import perf_counter

import numpy as np
import torch
from numpy.typing import NDArray
from torch import Tensor, nn
from torch.nn import functional
from torch.nn.utils.fusion import fuse_conv_bn_eval

from scripts import fashion
from scripts.onnx_graphs import OnnxGraph

SEED = 20240917
BATCH = 128
PEAK_RATE = 0.15
WEIGHT_DECAY = 5e-4
LIMIT = 6.0
PENALTY = 1e-4
EPOCHS = 14


class Relu:
    """ReLU that records the largest |input| and what lies beyond the limit."""

    def __init__(self) -> None:
        self.largest: list[float] = []
        self.beyond: list[Tensor] = []

    def __call__(self, x: Tensor) -> Tensor:
        self.largest.append(float(x.detach().abs().max()))
        if torch.is_grad_enabled():
            self.beyond.append(functional.relu(x.abs() - LIMIT).float().square().sum())
        return functional.relu(x)


class Block(nn.Module):
    """Two convolutions and a shortcut, which halves the picture where channels double."""

    def __init__(self, channels_in: int, channels: int) -> None:
        super().__init__()
        self.stride = channels // channels_in
        self.first = nn.Conv2d(channels_in, channels, 3, self.stride, padding=1, bias=False)
        self.first_norm = nn.BatchNorm2d(channels)
        self.second = nn.Conv2d(channels, channels, 3, padding=1, bias=False)
        self.second_norm = nn.BatchNorm2d(channels)

    def forward(self, x: Tensor, relu: Relu) -> Tensor:
        y = relu(self.first_norm(self.first(x)))
        y = self.second_norm(self.second(y))
        if self.stride == 2:
            added = y.shape[1] - x.shape[1]
            x = functional.pad(x[:, :, ::2, ::2], (0, 0, 0, 0, added // 2, added // 2))
        return relu(x + y)


class ResNet20(nn.Module):
    def __init__(self) -> None:
        super().__init__()
        self.first = nn.Conv2d(3, 16, 3, padding=1, bias=False)
        self.first_norm = nn.BatchNorm2d(16)
        widths = [16, 16, 16, 16, 32, 32, 32, 64, 64, 64]
        self.blocks = nn.ModuleList(Block(a, b) for a, b in pairwise(widths))
        self.output = nn.Linear(64, 10)

    def forward(self, x: Tensor, relu: Relu) -> Tensor:
        x = relu(self.first_norm(self.first(x)))
        for block in self.blocks:
            x = block(x, relu)
        return self.output(x.mean(dim=(2, 3)))


def framed(images: Tensor) -> Tensor:
    """Bytes [n, 28, 28] as [n, 3, 32, 32], 0 to 1, in the middle of zeros."""
    grey = functional.pad(images.float() / 255, (2, 2, 2, 2))
    return grey[:, None].expand(-1, 3, -1, -1).contiguous(memory_format=torch.channels_last)


def shifted(images: Tensor, generator: torch.Generator) -> Tensor:
    """`framed`, with half of the images mirrored and each moved by up to 2 pixels in both axes."""
    n = len(images)
    wide = functional.pad(images.float() / 255, (4, 4, 4, 4))
    mirrored = torch.rand(n, generator=generator) < 0.5
    wide = torch.where(mirrored[:, None, None], wide.flip(2), wide)
    rows, columns = torch.randint(0, 5, (2, n, 1), generator=generator) + torch.arange(32)
    grey = wide[torch.arange(n)[:, None, None], rows[:, :, None], columns[:, None, :]]
    return grey[:, None].expand(-1, 3, -1, -1).contiguous(memory_format=torch.channels_last)


def train(images: Tensor, labels: Tensor, epochs: int) -> ResNet20:
    """SGD with Nesterov momentum; the rate rises for a fifth of the time, then falls."""
    torch.manual_seed(SEED)
    generator = torch.Generator().manual_seed(SEED)
    network = ResNet20().to(memory_format=torch.channels_last)
    optimizer = torch.optim.SGD(
        network.parameters(), PEAK_RATE, momentum=0.9, nesterov=True, weight_decay=WEIGHT_DECAY
    )
    steps = len(images) // BATCH
    schedule = torch.optim.lr_scheduler.OneCycleLR(
        optimizer, PEAK_RATE, epochs * steps, pct_start=0.2, cycle_momentum=False
    )
    for epoch in range(epochs):
        start, losses, largest = perf_counter(), [], 0.0
        order = torch.randperm(len(images), generator=generator)
        for batch in order[: steps * BATCH].view(-1, BATCH):
            relu = Relu()
            with torch.autocast("cpu", torch.bfloat16):
                logits = network(shifted(images[batch], generator), relu)
            loss = functional.cross_entropy(logits.float(), labels[batch])
            penalty = PENALTY * torch.stack(relu.beyond).sum() / BATCH
            optimizer.zero_grad()
            (loss + penalty).backward()
            optimizer.step()
            schedule.step()
            losses.append(loss.item())
            largest = max(largest, *relu.largest)
        print(
            f"epoch {epoch + 1}: loss {np.mean(losses):.4f}, largest input of ReLU {largest:.1f}, "
            f"{perf_counter() - start:.0f} s",
            flush=True,
        )
    return network.eval()


@torch.no_grad()
def fold(network: ResNet20) -> None:
    """Fold each normalisation into the convolution before it; round weights to float16."""
    for part in (network, *network.blocks):
        for name in ("first", "second"):
            if hasattr(part, name):
                fused = fuse_conv_bn_eval(getattr(part, name), getattr(part, f"{name}_norm"))
                setattr(part, name, fused)
                setattr(part, f"{name}_norm", nn.Identity())
    for parameter in network.parameters():
        parameter.copy_(parameter.half().float())


@torch.no_grad()
def describe(network: ResNet20, images: Tensor, labels: Tensor) -> str:
    """The accuracy, and the largest input of each ReLU."""
    relu, right = Relu(), 0
    for pixels, expected in zip(images.split(250), labels.split(250), strict=True):
        right += int((network(framed(pixels), relu).argmax(dim=1) == expected).sum())
    layers = np.array(relu.largest).reshape(len(images) // 250, -1).max(axis=0)
    return f"{right / len(images):.4f}  largest |inputs| {', '.join(f'{x:.1f}' for x in layers)}"


def to_onnx(network: ResNet20) -> bytes:
    """Convolutions, ReLU, sums; a shortcut that halves the picture is Slice and Pad."""
    graph = OnnxGraph("resnet20", "pixels", (3, 32, 32))
    value = graph.conv("first", "pixels", *stored(network.first))
    value = graph.add("Relu", "first_relu", value)
    for number, block in enumerate(network.blocks, 1):
        value = add_block(graph, f"block{number}", block, value)
    value = graph.add("GlobalAveragePool", "mean", value)
    value = graph.add("Flatten", "features", value)
    graph.gemm("logits", value, *stored(network.output))
    return graph.contents("logits", (10,), source=fashion.SOURCE, licence=fashion.LICENCE)


def add_block(graph: OnnxGraph, name: str, block: Block, value: str) -> str:
    inner = graph.conv(f"{name}.first", value, *stored(block.first), stride=block.stride)
    inner = graph.add("Relu", f"{name}.first_relu", inner)
    inner = graph.conv(f"{name}.second", inner, *stored(block.second))
    if block.stride == 2:
        limits = {"starts": [0, 0], "ends": [2**31, 2**31], "axes": [2, 3], "steps": [2, 2]}
        given = [graph.weight(f"{name}.{k}", np.array(v)) for k, v in limits.items()]
        value = graph.add("Slice", f"{name}.slice", value, *given)
        added = (block.first.out_channels - block.first.in_channels) // 2
        pads = graph.weight(f"{name}.pads", np.array([0, added, 0, 0] * 2))
        value = graph.add("Pad", f"{name}.pad", value, pads)
    total = graph.add("Add", f"{name}.sum", inner, value)
    return graph.add("Relu", f"{name}.relu", total)


def stored(layer: nn.Conv2d | nn.Linear) -> tuple[NDArray[np.float32], NDArray[np.float32]]:
    return layer.weight.detach().contiguous().numpy(), layer.bias.detach().numpy()


def main() -> None:
    parser = argparse.ArgumentParser(description="Train and export ResNet-20.")
    parser.add_argument("--data", type=Path, default=fashion.FOLDER)
    parser.add_argument("--epochs", type=int, default=EPOCHS)
    parser.add_argument("--out", type=Path, default=Path("python/cloakwork/models/data"))
    options = parser.parse_args()
    torch.set_num_threads(1)
    images, labels, test_images, test_labels = (
        torch.from_numpy(array.astype(kind))
        for part in ("train", "t10k")
        for array, kind in zip(fashion.load(options.data, part), (np.uint8, np.int64), strict=True)
    )
    network = train(images, labels, options.epochs)
    fold(network)
    print("train", describe(network, images[:10000], labels[:10000]))
    print("test", describe(network, test_images, test_labels))
    (options.out / "resnet20.onnx").write_bytes(to_onnx(network))


if __name__ == "__main__":
    main()
