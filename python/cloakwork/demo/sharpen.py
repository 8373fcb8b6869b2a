"""A photograph, sharpened while encrypted, exact to the last bit.

The client cuts a photograph into strips of rows, packs each into a row of slots and encrypts them
under BGV.  The server's part, a 3 x 3 kernel of integers, is traced to a program, expanded into
HEAL's ops, saved as a transcript, checked and run: neighbours are rotations away.  What the client
decrypts is what integer arithmetic gives.
"""

from __future__ import annotations

from dataclasses import dataclass, field
from pathlib import Path

import numpy as np
from numpy.typing import NDArray
from rich.console import Console

import cloakwork as cw
from cloakwork import fhe, files
from cloakwork.demo.png import write_png
from cloakwork.demo.stage import Phases, costs_of, plain_console, print_report, transcript_line
from cloakwork.models.photograph import Photograph, load_photograph

TRANSCRIPT_NAME, BEFORE_NAME, AFTER_NAME = "sharpen.json", "before.png", "after.png"

PHASES = (
    "make keys", "encrypt", "filter directly", "trace", "write transcript", "check transcript",
    "run transcript", "decrypt",
)  # fmt: skip

# Over 16, by which the client divides: the picture plus its difference from a blurred one.
KERNEL = ((-1, -2, -1), (-2, 28, -2), (-1, -2, -1))
_DIVISOR = 16

Integers = NDArray[np.int64]


def demo_context() -> fhe.BgvContext:
    """128-bit security; weights of at most 5 bits and eight rotations fit one modulus."""
    return fhe.bgv(2**13, 65537, moduli=[50], special=[50])


class Strips:
    """The layout of pictures [channels, height, width] in rows of slots.

    A strip is as many whole lines as fit, with a border of one pixel, which repeats the edge;
    so every pixel's neighbours are 1 and `line` slots away, plus or minus.
    """

    def __init__(self, context: fhe.BgvContext, shape: tuple[int, int, int]) -> None:
        self.channels, self.height, self.width = shape
        self.line = self.width + 2
        self.row = context.slots // 2
        self.lines = self.row // self.line - 2
        self.count = -(-self.height // self.lines)

    def pack(self, picture: Integers) -> Integers:
        """[channels, height, width] -> [ciphertexts, slots]."""
        below = self.count * self.lines - self.height
        padded = np.pad(picture, ((0, 0), (1, 1 + below), (1, 1)), mode="edge")
        tall = np.lib.stride_tricks.sliding_window_view(padded, self.lines + 2, axis=1)
        strips = (
            tall[:, :: self.lines].transpose(0, 1, 3, 2).reshape(self.channels * self.count, -1)
        )
        rows = np.zeros((-(-len(strips) // 2) * 2, self.row), dtype=np.int64)
        rows[: len(strips), : strips.shape[1]] = strips
        return rows.reshape(-1, 2 * self.row)

    def unpack(self, slots: Integers) -> Integers:
        """[ciphertexts, slots] -> [channels, height, width], without borders."""
        rows = slots.reshape(-1, self.row)[: self.channels * self.count]
        strips = rows[:, : (self.lines + 2) * self.line].reshape(len(rows), -1, self.line)
        inner = strips[:, 1:-1, 1:-1].reshape(self.channels, -1, self.width)
        return inner[:, : self.height]


class Filter:
    """A 3 x 3 kernel of integers on lines of slots."""

    def __init__(self, kernel: tuple[tuple[int, ...], ...], line: int) -> None:
        self.steps: dict[int, list[int]] = {}
        for down, weights in enumerate(kernel):
            for right, weight in enumerate(weights):
                self.steps.setdefault(weight, []).append((down - 1) * line + right - 1)

    @property
    def rotations(self) -> list[int]:
        """Steps that it needs keys for."""
        return sorted({step for steps in self.steps.values() for step in steps} - {0})

    def __call__(self, picture: fhe.BgvCiphertext) -> fhe.BgvCiphertext:
        """Every slot's neighbourhood, weighted; neighbours of one weight are added first."""
        turned = dict(zip(self.rotations, picture.rotate_many(self.rotations), strict=True))
        turned[0] = picture
        sums = []
        for weight, (first, *others) in self.steps.items():
            alike = turned[first]
            for step in others:
                alike = alike + turned[step]
            sums.append(alike * weight)
        total = sums[0]
        for addend in sums[1:]:
            total = total + addend
        return total


def filtered(picture: Integers, kernel: tuple[tuple[int, ...], ...]) -> Integers:
    """The same in plain: [channels, height, width], the edge repeated."""
    windows = np.lib.stride_tricks.sliding_window_view(
        np.pad(picture, ((0, 0), (1, 1), (1, 1)), mode="edge"), (3, 3), axis=(1, 2)
    )
    return np.asarray(np.einsum("chwij,ij->chw", windows, np.array(kernel)))


@dataclass
class SharpenReport:
    """The results of the demo."""

    parameters: fhe.Parameters
    folder: Path
    pixels: int = 0
    ciphertexts: int = 0
    wrong: int = -1
    noise_budget_bits: float = float("-inf")
    same_as_direct: bool = False
    findings: int = 0
    mismatches: int = 0
    seconds: dict[str, float] = field(default_factory=dict)

    @property
    def passed(self) -> bool:
        """Whether every number is exact, and the transcript's are the same."""
        return self.wrong == self.findings == self.mismatches == 0 and self.same_as_direct


def run(
    out_dir: Path, *, threads: int | None = None, console: Console | None = None
) -> SharpenReport:
    """Run the demo, print its report; leave the transcript and two pictures in `out_dir`."""
    console = console or plain_console()
    photograph = load_photograph()
    out_dir.mkdir(parents=True, exist_ok=True)
    files.claim([out_dir / name for name in (TRANSCRIPT_NAME, BEFORE_NAME, AFTER_NAME)])
    phases = Phases(PHASES, console)
    with phases.progress:
        report, after = _run_phases(phases, photograph, out_dir, threads)
    report.seconds = phases.seconds
    write_png(out_dir / BEFORE_NAME, photograph.pixels)
    write_png(out_dir / AFTER_NAME, after)
    _print(report, photograph, console)
    return report


def _run_phases(
    phases: Phases, photograph: Photograph, folder: Path, threads: int | None
) -> tuple[SharpenReport, NDArray[np.uint8]]:
    picture = photograph.pixels.transpose(2, 0, 1).astype(np.int64)
    with phases.phase("make keys"):
        context = demo_context()
        strips = Strips(context, picture.shape)
        sharpen = Filter(KERNEL, strips.line)
        keys = context.keygen(sharpen.rotations, conjugation=False, relinearization=False)
    report = SharpenReport(context.parameters, folder, pixels=picture.size)
    with keys:
        with phases.phase("encrypt"):
            encrypted = keys.encrypt(strips.pack(picture), batch=True)
            assert isinstance(encrypted, fhe.BgvCiphertext)
        with phases.phase("filter directly"):
            direct = sharpen(encrypted)
        with phases.phase("trace"):
            program = cw.trace(sharpen, encrypted)
        with phases.phase("write transcript"):
            program.to_heal().save(folder / TRANSCRIPT_NAME)
        with phases.phase("check transcript"):
            transcript = cw.heal.load(folder / TRANSCRIPT_NAME)
            report.findings = len(transcript.check())
        with phases.phase("run transcript"):
            result = transcript.run(verify=True, threads=threads)
        report.mismatches = len(result.mismatches)
        with phases.phase("decrypt"):
            found = program.results(result.outputs)[0]
            slots = keys.decrypt(found)
        report.same_as_direct = np.array_equal(slots, keys.decrypt(direct))
    report.ciphertexts, report.noise_budget_bits = len(slots), found.noise_budget()
    sharp = strips.unpack(slots)
    report.wrong = int((sharp != filtered(picture, KERNEL)).sum())
    pixels = np.clip((sharp + _DIVISOR // 2) // _DIVISOR, 0, 255).astype(np.uint8)
    return report, np.ascontiguousarray(pixels.transpose(1, 2, 0))


def _print(report: SharpenReport, photograph: Photograph, console: Console) -> None:
    print_report(
        console,
        "Encrypted sharpening",
        [
            ("numbers", f"{report.pixels} in {report.ciphertexts} ciphertexts"),
            ("different from integer arithmetic", f"{report.wrong}"),
            ("noise budget left", f"{report.noise_budget_bits:.1f} bits"),
            ("transcript gives the same", "yes" if report.same_as_direct else "NO"),
            ("transcript verified", "yes" if report.mismatches == 0 else "NO"),
        ],
        costs_of(report.parameters, report.seconds),
    )
    console.print(
        f"pictures: {report.folder / BEFORE_NAME}, {report.folder / AFTER_NAME}", soft_wrap=True
    )
    console.print(transcript_line(report.folder / TRANSCRIPT_NAME), soft_wrap=True)
    console.print(
        f"photograph: {photograph.source}; {photograph.licence}", style="dim", soft_wrap=True
    )
