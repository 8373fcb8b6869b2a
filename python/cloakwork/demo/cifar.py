"""ResNet-20 on encrypted pictures of CIFAR-10's size, with bootstrapping.

The pictures are clothes of Fashion-MNIST in a frame, as three equal channels of 32 x 32: CIFAR-10
comes without a licence.  The network was trained on such pictures.
"""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING

from rich.console import Console

from cloakwork.demo.pictures import Pictures
from cloakwork.models import load_fashion

if TYPE_CHECKING:
    from cloakwork.demo.network import NetworkReport

# Pictures to test, and those of the sample after them.
_TESTED, _SAMPLE = 200, 200
# The largest deviation of a logit that is allowed: 2 % of the largest logit.
PRECISION = 0.2


def run(
    out_dir: Path, count: int = 1, *, threads: int | None = None, console: Console | None = None
) -> NetworkReport:
    """Run the demo on the first `count` pictures, and print its report."""
    from cloakwork.demo import network

    way = network.Way("latency", count, threads, PRECISION)
    return network.run("resnet20", pictures(), out_dir, way, console=console)


def pictures() -> Pictures:
    """Framed clothes for `cloakwork.demo.network`: neither part was used for training."""
    fashion = load_fashion()
    framed, last = fashion.framed, _TESTED + _SAMPLE
    return Pictures(
        sample=framed[_TESTED:last],
        test=framed[:_TESTED],
        labels=fashion.labels[:_TESTED],
        shown=framed[:_TESTED],
        source=(
            "Fashion-MNIST framed as [3, 32, 32], not CIFAR-10, which has no licence; "
            f"{fashion.source}; {fashion.licence}"
        ),
    )
