"""HEAL transcripts: load, check, run, compare, save.

>>> import cloakwork as cw
>>> q = cw.asarray([17, 257])
>>> a = cw.asarray([[3, 5], [8, 13]])
>>> transcript = cw.trace(lambda x: cw.ops.modmul(x, x, q), a).to_transcript(inputs=[a])
>>> transcript.check()
[]
>>> result = transcript.run(verify=True)
>>> result.mismatches
[]
"""

from __future__ import annotations

from os import PathLike
from typing import Unpack

from cloakwork import _core
from cloakwork.errors import ParamError
from cloakwork.files import name_of
from cloakwork.report import RunResult
from cloakwork.runs import Runnable, RunOptions


class Transcript(Runnable):
    """A program whose inputs and expected outputs are part of it."""

    def __init__(self, core: _core.Program, name: str = "") -> None:
        super().__init__(core)
        self._name, self._source = name, name or None

    def run(
        self, *, verify: bool = False, bisect: bool = False, **options: Unpack[RunOptions]
    ) -> RunResult:
        """Run it on the data that it holds; ProgramError if it has errors.

        verify    compare every download with the value that the transcript expects, to the bit
        bisect    verify, and after a mismatch run against the slow references to find the first
                  op that is wrong
        options   see `cloakwork.RunOptions`
        """
        return self._run([], verify, bisect, options)

    def save(self, path: str | PathLike[str]) -> None:
        """Write it: `.json` for the form that HEAL loads, `.cwk` for the container.

        The file appears whole or not at all.
        """
        target = name_of(path)
        if target.endswith(".json"):
            self._core.save_heal(target)
        elif target.endswith(".cwk"):
            self._core.save_container(target)
        else:
            raise ParamError("path", target, "a name that ends in .json or .cwk")

    def __repr__(self) -> str:
        return f"Transcript({self._name!r}, steps={self._core.step_count()})"


def load(
    path: str | PathLike[str], *, generation: str | None = None, checksums: bool = False
) -> Transcript:
    """Load a transcript: HEAL's JSON in any of its forms, or a container; the contents decide.

    generation  "first" or "later": which of HEAL's op sets it is written in.  By default its ops
                tell; a file without ops that tell is of the later one, and if it is not, its
                `expand(a, repeat, axis)` is misread
    checksums   compare a container's tensors with their checksums at once, and not when they are
                first used; no other form has any

    Raises LoadError where it is neither or is damaged, OSError where it cannot be read.  What the
    program means is `Transcript.check`'s matter.
    """
    name = name_of(path)
    return Transcript(_core.Program.load(name, None, checksums, generation), name)
