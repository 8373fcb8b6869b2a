"""Encrypted sharpening: packing, the kernel, PNG files, and the demo from end to end."""

from pathlib import Path
from zlib import crc32, decompress

import cloakwork as cw
import numpy as np
import pytest
from cloakwork.demo import sharpen as demo
from cloakwork.demo.png import write_png
from cloakwork.models.photograph import load_photograph
from python.device_builds import example_or_host
from python.fhe_setup import bgv
from rich.console import Console
from scipy.ndimage import correlate


def read_png(path: Path) -> np.ndarray:
    """The output of `write_png`: no filters, 8 bits, grey or colours."""
    data = path.read_bytes()
    assert data[:8] == b"\x89PNG\r\n\x1a\n"
    chunks, place = {}, 8
    while place < len(data):
        size = int.from_bytes(data[place : place + 4], "big")
        kind, body = data[place + 4 : place + 8], data[place + 8 : place + 8 + size]
        check = int.from_bytes(data[place + 8 + size : place + 12 + size], "big")
        assert check == crc32(kind + body)
        chunks[kind] = body
        place += 12 + size
    header = chunks[b"IHDR"]
    width, height = int.from_bytes(header[:4], "big"), int.from_bytes(header[4:8], "big")
    assert header[8] == 8
    colours = {0: 1, 2: 3}[header[9]]
    lines = np.frombuffer(decompress(chunks[b"IDAT"]), np.uint8).reshape(height, -1)
    assert not lines[:, 0].any()
    return lines[:, 1:].reshape((height, width) if colours == 1 else (height, width, 3))


@pytest.mark.parametrize("shape", [(5, 7), (5, 7, 3), (1, 1, 3)])
def test_pictures_are_what_png_readers_read(tmp_path: Path, shape: tuple[int, ...]) -> None:
    pixels = np.random.default_rng(1).integers(0, 256, shape).astype(np.uint8)
    write_png(tmp_path / "a.png", pixels)
    np.testing.assert_array_equal(read_png(tmp_path / "a.png"), pixels)


def test_the_photograph_comes_with_source_and_licence() -> None:
    photograph = load_photograph()
    assert photograph.pixels.shape == (256, 256, 3)
    assert "danielbuechele" in photograph.source
    assert "CC BY 2.0" in photograph.licence


@pytest.mark.parametrize("shape", [(1, 5, 6), (3, 40, 17), (2, 14, 6), (3, 1, 1)])
def test_strips_give_back_the_picture(shape: tuple[int, int, int]) -> None:
    strips = demo.Strips(bgv(256, 1).context, shape)
    picture = np.random.default_rng(2).integers(0, 256, shape)
    slots = strips.pack(picture)
    assert slots.shape[1] == 256
    np.testing.assert_array_equal(strips.unpack(slots), picture)


@pytest.mark.parametrize("kernel", [demo.KERNEL, ((1, 2, 3), (4, 5, 6), (7, 8, 9))])
def test_a_filter_is_exact_up_to_the_edge(kernel: tuple[tuple[int, ...], ...]) -> None:
    context = bgv(256, 1).context
    picture = np.random.default_rng(3).integers(0, 256, (2, 20, 9))
    strips = demo.Strips(context, picture.shape)
    sharpen = demo.Filter(kernel, strips.line)
    keys = context.keygen(sharpen.rotations)
    encrypted = keys.encrypt(strips.pack(picture), batch=True)
    found = strips.unpack(keys.decrypt(sharpen(encrypted)))
    expected = np.stack(
        [correlate(channel, np.array(kernel), mode="nearest") for channel in picture]
    )
    np.testing.assert_array_equal(found, expected)
    np.testing.assert_array_equal(demo.filtered(picture, kernel), expected)


@pytest.fixture(scope="module")
def folder(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return tmp_path_factory.mktemp("sharpen")


@pytest.fixture(scope="module")
def report(folder: Path) -> demo.SharpenReport:
    return demo.run(folder, console=Console(quiet=True))


@pytest.mark.large  # test_demos_on_devices.py runs it over a small ring
@pytest.mark.usefixtures("report")
def test_its_transcript_is_right_on_an_example_device(folder: Path) -> None:
    transcript, device = cw.heal.load(folder / demo.TRANSCRIPT_NAME), example_or_host("python")
    assert not transcript.run(verify=True, device=device).mismatches


def test_the_demo_keeps_its_promises(folder: Path, report: demo.SharpenReport) -> None:
    assert report.passed
    assert report.wrong == 0
    assert report.pixels == 3 * 256 * 256
    assert report.noise_budget_bits > 0
    assert set(report.seconds) == set(demo.PHASES)
    before, after = read_png(folder / demo.BEFORE_NAME), read_png(folder / demo.AFTER_NAME)
    np.testing.assert_array_equal(before, load_photograph().pixels)
    # Neighbours differ more than before.
    assert (
        np.abs(np.diff(after.astype(int), axis=1)).mean()
        > np.abs(np.diff(before.astype(int), axis=1)).mean()
    )


def test_a_report_that_breaks_a_promise_has_not_passed() -> None:
    parameters = demo.demo_context().parameters
    report = demo.SharpenReport(parameters, Path("unused"), wrong=0, same_as_direct=True)
    assert report.passed
    report.wrong = 1
    assert not report.passed
    assert parameters.security == 128
