"""Options of the demonstrations: the function that each reaches, and with what."""

from __future__ import annotations

from pathlib import Path
from typing import Any

from cloakwork.demo import cifar, digits, disease, merkle, sentiment, sharpen
from cloakwork.demo.network import Way

DEMOS: dict[tuple[str, str], tuple[Any, str, str, object]] = {
    ("demo digits", "--out"): (digits, "run", "demo digits --out new", Path("new")),
    ("demo digits", "--threads"): (digits, "run", "demo digits --threads 3", 3),
    ("demo digits", "--network"): (digits, "run_network", "demo digits --network cnn", "cnn"),
    ("demo digits", "--images"): (
        digits,
        "run_network",
        "demo digits --network mlp --images 7",
        Way("latency", 7),
    ),
    ("demo digits", "--optimize"): (
        digits,
        "run_network",
        "demo digits --network mlp --optimize throughput",
        Way("throughput", 899),
    ),
    ("demo cifar", "--out"): (cifar, "run", "demo cifar --out new", Path("new")),
    ("demo cifar", "--images"): (cifar, "run", "demo cifar --images 3", 3),
    ("demo cifar", "--threads"): (cifar, "run", "demo cifar --threads 3", 3),
    ("demo disease", "--out"): (disease, "run", "demo disease --out new", Path("new")),
    ("demo dot", "--out"): (disease, "run", "demo dot --out new", Path("new")),
    ("demo disease", "--threads"): (disease, "run", "demo disease --threads 3", 3),
    ("demo dot", "--threads"): (disease, "run", "demo dot --threads 3", 3),
    ("demo sentiment", "--out"): (sentiment, "run", "demo sentiment --out new", Path("new")),
    ("demo sentiment", "--text"): (sentiment, "run", "demo sentiment --text good", ["good"]),
    ("demo sentiment", "--threads"): (sentiment, "run", "demo sentiment --threads 3", 3),
    ("demo sharpen", "--out"): (sharpen, "run", "demo sharpen --out new", Path("new")),
    ("demo sharpen", "--threads"): (sharpen, "run", "demo sharpen --threads 3", 3),
    ("demo merkle", "--out"): (merkle, "run", "demo merkle --out new", Path("new")),
    ("demo merkle", "--node"): (merkle, "run", "demo merkle --no-node", False),
}
