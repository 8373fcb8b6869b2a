"""The demonstration of ResNet-20: its pictures; the network itself takes minutes and 12 GB."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pytest
from cloakwork.demo import cifar, network
from cloakwork.demo.pictures import Pictures
from cloakwork.errors import InputError
from cloakwork.models import load_fashion


def test_no_picture_is_both_sample_and_test() -> None:
    found = cifar.pictures()
    assert found.test.shape[1:] == found.sample.shape[1:] == (3, 32, 32)
    assert len(found.labels) == len(found.test) == len(found.shown)
    both = np.concatenate([found.test, found.sample]).reshape(-1, 3 * 32 * 32)
    whole = load_fashion().framed[: len(both)].reshape(len(both), -1)
    np.testing.assert_array_equal(both, whole)


def test_it_says_what_the_pictures_are() -> None:
    assert cifar.pictures().source.startswith("Fashion-MNIST framed as [3, 32, 32], not CIFAR-10")


def test_the_network_of_20_layers_runs_one_by_one(
    monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    given: list[object] = []

    def run(name: str, pictures: Pictures, out: Path, way: network.Way, **_: object) -> None:
        given.extend([name, out, way, len(pictures.test)])

    monkeypatch.setattr(network, "run", run)
    cifar.run(tmp_path, 3, threads=2)
    way = network.Way("latency", 3, 2, cifar.PRECISION)
    assert given == ["resnet20", tmp_path, way, 200]


def test_more_pictures_than_there_are_get_refused(tmp_path: Path) -> None:
    with pytest.raises(InputError, match="a number from 1 to 200"):
        cifar.run(tmp_path, 201)
