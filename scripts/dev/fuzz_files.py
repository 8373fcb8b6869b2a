"""The seeded fuzz loop over the readers that Python adds to Rust's: `dev.py fuzz` runs it.

Each seed damages files and passes them to their readers. A reader may accept a file, or refuse it
by a named error; for any other outcome the loop prints the seed that reproduces it.
"""

from __future__ import annotations

import argparse
import random
import sys
import tempfile
from collections.abc import Callable
from dataclasses import dataclass
from hashlib import blake2b
from pathlib import Path
from typing import Any

import cloakwork as cw
import numpy as np
from cloakwork import fhe, files, zk
from cloakwork.compiler.importing import from_model
from cloakwork.errors import CloakworkError
from cloakwork.models import network_path
from cloakwork.zk.instructions.values import as_tensor

ROOT = Path(__file__).resolve().parents[2]
_VECTORS = ROOT / "tests" / "vectors" / "groth16"
_SUM_BYTES = 32
_HEADER = slice(8, 16)
_TOKENS = (
    b"9", b"-", b"{", b"[", b'"', b"null", b"1e999", b"\0", b"('", b"O", b">", b"9" * 20,
    b'"op":', b"\x80", b"\xff",
)  # fmt: skip
# Headers are at the start, and their numbers are sizes: half of the damage goes there.
_START_BYTES = 160


def damaged(contents: bytes, chance: random.Random) -> bytes:
    """The bytes with a few changed, removed, duplicated or inserted."""
    changed = bytearray(contents)
    for _ in range(chance.choice([1, 1, 1, 2, 4])):
        reach = min(len(changed), chance.choice([_START_BYTES, len(changed)]))
        at = chance.randrange(max(1, reach))
        match chance.randrange(6):
            case 0:
                changed[at : at + 1] = bytes([chance.randrange(256)])
            case 1:
                del changed[at : at + chance.randint(1, 12)]
            case 2:
                to = chance.randrange(max(1, reach))
                changed[to:to] = changed[at : at + chance.randint(1, 40)]
            case 3 if chance.randrange(8) == 0:
                del changed[at:]
            case 4:
                changed[at : at + 8] = chance.randbytes(8)
            case _:
                changed[at:at] = chance.choice(_TOKENS)
    return bytes(changed)


def sealed(contents: bytes, chance: random.Random) -> bytes:
    """A damaged file of keys or ciphertexts, mostly with a valid checksum."""
    if chance.randrange(4) == 0:
        return damaged(contents, chance)
    size = int.from_bytes(contents[_HEADER], "little")
    header, rest = contents[16 : 16 + size], contents[16 + size : -_SUM_BYTES]
    if chance.randrange(4):
        header = damaged(header, chance)
    else:
        rest = damaged(rest, chance)
    body = contents[:8] + len(header).to_bytes(8, "little") + header + rest
    return body + blake2b(body, digest_size=_SUM_BYTES).digest()


@dataclass(frozen=True)
class Kind:
    """A sample, the function that damages it, and the one that reads it."""

    contents: bytes
    read: Callable[[Path], object]
    damage: Callable[[bytes, random.Random], bytes] = damaged
    name: str = "file"


def _keys(folder: Path) -> list[Kind]:
    context = fhe.ckks(32, moduli=[50, 40], special=[50], insecure=True)
    keys = context.keygen(rotations=[1])
    things: dict[str, Any] = {"public": keys.public, "evaluation": keys.evaluation, "secret": keys}
    things["ciphertext"] = keys.encrypt([0.5])
    for name, thing in things.items():
        thing.save(folder / name)

    def read(path: Path) -> object:
        path.chmod(0o600)
        return fhe.load(path, insecure=True)

    return [Kind((folder / name).read_bytes(), read, sealed) for name in things]


def _programs() -> list[Kind]:
    def judged(path: Path) -> object:
        program = zk.Program.load(path)
        return program.to_dot(), program.to_json(), program.to_text(), program.check()

    samples = [path.read_bytes() for path in sorted((ROOT / "examples" / "zk").glob("*.json"))]
    text = zk.Program.parse(samples[0]).to_text().encode()
    programs = [Kind(sample, judged) for sample in [*samples[:3], text]]
    x = cw.asarray(np.arange(6))
    transcript = cw.trace(lambda a: cw.ops.modmul(a, x, 17), x).to_transcript([x])

    def written(suffix: str) -> bytes:
        with tempfile.TemporaryDirectory() as folder:
            transcript.save(Path(folder) / f"t{suffix}")
            return (Path(folder) / f"t{suffix}").read_bytes()

    def run(path: Path) -> object:
        loaded = cw.heal.load(path)
        loaded.check()
        return loaded.run(threads=1)

    return programs + [Kind(written(suffix), run) for suffix in (".json", ".cwk")]


def _statements() -> list[Kind]:
    kinds = []
    for curve in ("bn128", "bls12381"):
        names = ("mixed.vkey.json", "mixed1.public.json", "mixed1.proof.json")
        paths = [_VECTORS / curve / name for name in names]
        for at in range(3):

            def verify(path: Path, at: int = at, paths: list[Path] = paths) -> object:
                return zk.groth16.verify(*(path if n == at else p for n, p in enumerate(paths)))

            kinds.append(Kind(paths[at].read_bytes(), verify))
        key, witness = _VECTORS / curve / "mixed.zkey", _VECTORS / curve / "mixed1.wtns"
        circuit = _VECTORS / curve / "mixed.r1cs"
        kinds += [
            Kind(key.read_bytes(), lambda path: zk.read_zkey(path, check=True)),
            Kind(witness.read_bytes(), zk.read_wtns),
            Kind(circuit.read_bytes(), zk.read_r1cs),
        ]
    return kinds


def _arrays() -> list[Kind]:
    words = np.arange(12, dtype=np.uint64).reshape(3, 4)
    samples = [words, words.astype(np.float64), np.asfortranarray(words), np.zeros(())]
    dtypes = [("bn254.fr", (3,)), ("u64", (3, 4)), ("f64", (3, 4)), ("goldilocks", (3, 4))]
    kinds = []
    for sample in samples:
        with tempfile.TemporaryDirectory() as folder:
            np.save(Path(folder) / "x.npy", sample)
            contents = (Path(folder) / "x.npy").read_bytes()
        for dtype, shape in dtypes:

            def read(path: Path, dtype: str = dtype, shape: tuple[int, ...] = shape) -> object:
                return as_tensor("x", path, dtype, shape)

            kinds.append(Kind(contents, read, name="x.npy"))
        kinds.append(Kind(contents, files.load_npy))
    return kinds


def main() -> int:
    """Read the command line, and run."""
    parser = argparse.ArgumentParser(description="Damage files and hand them to their readers.")
    parser.add_argument("--seeds", type=int, default=1000)
    parser.add_argument("--start", type=int, default=0)
    options = parser.parse_args()
    with tempfile.TemporaryDirectory() as name:
        folder = Path(name)
        kinds = _keys(folder) + _programs() + _statements() + _arrays()
        kinds.append(Kind(network_path("digits_square").read_bytes(), from_model))
        taken = 0
        for seed in range(options.start, options.start + options.seeds):
            chance = random.Random(seed)
            # A seed with all kinds would be slow: it takes a quarter of them.
            for kind in chance.sample(kinds, len(kinds) // 4):
                path = folder / kind.name
                # A new file: a replacement of an existing file's contents is flushed to the disk.
                path.unlink(missing_ok=True)
                path.write_bytes(kind.damage(kind.contents, chance))
                try:
                    kind.read(path)
                except (CloakworkError, OSError):
                    continue
                except Exception as error:
                    print(f"fuzz: seed {seed}: {type(error).__name__}: {error}", file=sys.stderr)
                    print(f"again: dev.py fuzz --start {seed} --seeds 1", file=sys.stderr)
                    raise
                taken += 1
    total = options.seeds * (len(kinds) // 4)
    print(f"{options.seeds} seeds of {len(kinds)} kinds of files: {total} damaged files, of which")
    print(f"{taken} are still read and {total - taken} refused by named errors")
    return 0


if __name__ == "__main__":
    sys.exit(main())
