"""A network from an ONNX file, compiled, and run on encrypted pictures.

`fhe.compile` chooses the approximations of its functions, the layout and the parameters: for one
picture in the shortest time, or for as many at once as there are slots.  The client encrypts
pictures; the server runs the program; the client decrypts logits.
"""

from __future__ import annotations

from dataclasses import dataclass, field
from pathlib import Path
from typing import Any, Literal

import numpy as np
from numpy.typing import NDArray
from rich.console import Console

from cloakwork import fhe, files
from cloakwork.compiler.importing import from_model
from cloakwork.demo.pictures import Pictures
from cloakwork.demo.png import write_png
from cloakwork.demo.sheet import sheet
from cloakwork.demo.stage import Phases, costs_of, mebibytes, plain_console, print_report
from cloakwork.errors import InputError
from cloakwork.models import network_path

# The guarantees of the demo, which `NetworkReport.passed` checks.
ACCURACY_GOAL = 0.005

PHASES = ("import", "compile", "make keys", "encrypt", "run", "decrypt", "write program")

Floats = NDArray[np.float64]


@dataclass
class NetworkReport:
    """The results of the demo.

    `accuracy_exact` is the network's, `accuracy_compiled` that of its polynomials, both on all test
    pictures; `right` and `alike` count the encrypted ones.
    """

    network: str
    parameters: fhe.Parameters
    compiled: str
    folder: Path
    pictures: int = 0
    right: int = 0
    alike: int = 0
    close: int = 0
    accuracy_exact: float = 0.0
    accuracy_compiled: float = 0.0
    difference: float = float("inf")
    error: float = 0.0
    keys: int = 0
    bootstrapping: str = ""
    program: int = 0
    seconds: dict[str, float] = field(default_factory=dict)

    @property
    def passed(self) -> bool:
        """Whether logits are within the stated error, and labels those of the network.

        Where two logits are closer than twice the error, either label is right.
        """
        return (
            self.difference <= self.error
            and self.alike + self.close == self.pictures > 0
            # Rounded: 187 of 200 are 0.005 more than 186 of 200, and as floats a little above it.
            and round(self.accuracy_exact - self.accuracy_compiled, 9) <= ACCURACY_GOAL
        )

    def compare(self, found: Floats, compiled: Floats, labels: NDArray[np.int64]) -> None:
        """Fill in from logits [n, classes], encrypted and of the polynomials, and labels [n]."""
        predicted, expected = found.argmax(axis=1), compiled.argmax(axis=1)
        ordered = np.sort(compiled, axis=1)
        close = ordered[:, -1] - ordered[:, -2] <= 2 * self.error
        self.pictures, self.right = len(labels), int((predicted == labels).sum())
        self.alike = int((predicted == expected).sum())
        self.close = int(((predicted != expected) & close).sum())
        self.difference = float(np.abs(found - compiled).max())


@dataclass(frozen=True)
class Way:
    """How to run: on the first `count` test pictures, one by one or all at once.

    precision   of `fhe.compile`
    """

    optimize: Literal["latency", "throughput"]
    count: int
    threads: int | None = None
    precision: float | None = None


def run(
    network: str, pictures: Pictures, out_dir: Path, way: Way, *, console: Console | None = None
) -> NetworkReport:
    """Run the demo, and print its report.

    Leaves the compiled program NETWORK.cwk and NETWORK.png in `out_dir`; the picture frames what
    was read right in green, and the rest in red.

    Raises InputError for a count below 1 or above that of the test pictures.
    """
    count = way.count
    if not 1 <= count <= len(pictures.test):
        raise InputError("images", f"a number from 1 to {len(pictures.test)}", f"{count}")
    console = console or plain_console()
    out_dir.mkdir(parents=True, exist_ok=True)
    program, picture = (out_dir / f"{network}{end}" for end in (".cwk", ".png"))
    files.claim([program, picture])
    phases = Phases(PHASES, console)
    with phases.progress:
        report, found = _run_phases(phases, network, pictures, program, way)
    report.seconds = phases.seconds
    right = found.argmax(axis=1) == pictures.labels[:count]
    write_png(picture, sheet(pictures.shown[:count], right, columns=min(count, 20)))
    _print(report, pictures, console)
    return report


def _run_phases(
    phases: Phases, network: str, pictures: Pictures, path: Path, way: Way
) -> tuple[NetworkReport, Floats]:
    """The report, and logits [count, classes] that were computed on ciphertexts."""
    with phases.phase("import"):
        graph = from_model(network_path(network))
    with phases.phase("compile"):
        model = fhe.compile(graph, pictures.sample, optimize=way.optimize, precision=way.precision)
    client, server = model.split()
    with phases.phase("make keys"):
        client.keygen()
    # Pictures of one run: all of them in the slots of their batch, or one in many slots.
    size = way.count if way.optimize == "throughput" else 1
    with phases.phase("encrypt"):
        parts = [pictures.test[k : k + size] for k in range(0, way.count, size)]
        encrypted = [client.encrypt(part) for part in parts]
    with phases.phase("run"):
        results = [server.run(one, client.evaluation, threads=way.threads) for one in encrypted]
    with phases.phase("decrypt"):
        found = np.concatenate([np.asarray(client.decrypt(one, size)) for one in results])
    with phases.phase("write program"):
        model.save(path)
    own = model.report
    report = NetworkReport(network, model.context.parameters, own.chosen.describe(), path.parent)
    report.error, report.keys = own.error, own.chosen.key_bytes
    report.bootstrapping, report.program = own.bootstrapping, path.stat().st_size
    exact, compiled = (_only(each(pictures.test)) for each in (graph.predict, model.plain))
    report.compare(found, compiled[: way.count], pictures.labels[: way.count])
    report.accuracy_exact = float((exact.argmax(axis=1) == pictures.labels).mean())
    report.accuracy_compiled = float((compiled.argmax(axis=1) == pictures.labels).mean())
    return report, found


def _only(results: dict[str, NDArray[Any]]) -> Floats:
    """The result of a network that has one."""
    (values,) = results.values()
    return np.asarray(values, dtype=np.float64)


def _print(report: NetworkReport, pictures: Pictures, console: Console) -> None:
    count, tested = report.pictures, len(pictures.labels)
    each = report.seconds["run"] / count
    print_report(
        console,
        f"Encrypted pictures: {report.network}",
        [
            ("pictures, encrypted", f"{count}"),
            ("right", f"{report.right} of {count}"),
            ("same label as in plain", f"{report.alike} of {count}"),
            ("largest logit error", f"{report.difference:.1e}, stated {report.error:.1e}"),
            (f"accuracy of the network, {tested} pictures", f"{report.accuracy_exact:.2%}"),
            ("accuracy of its polynomials", f"{report.accuracy_compiled:.2%}"),
            ("time for one picture", f"{each:.2f} s"),
        ],
        [
            *costs_of(report.parameters, report.seconds),
            ("evaluation keys", mebibytes(report.keys)),
            ("program", mebibytes(report.program)),
        ],
    )
    console.print(f"compiled: {report.compiled}", soft_wrap=True)
    if report.bootstrapping:
        console.print(report.bootstrapping, soft_wrap=True)
    names = (report.folder / f"{report.network}{end}" for end in (".png", ".cwk"))
    console.print(f"picture and program: {', '.join(map(str, names))}", soft_wrap=True)
    console.print(f"images: {pictures.source}", style="dim", soft_wrap=True)
