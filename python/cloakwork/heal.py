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

from pathlib import Path

from cloakwork.errors import LoadError
from cloakwork.files import Readable, source_of
from cloakwork.programs.kinds import refuse_checksums
from cloakwork.programs.transcript import Branch, Transcript, is_transcript, read

__all__ = ["Branch", "Transcript", "load", "sample"]


def load(path: Readable, *, generation: str | None = None, checksums: bool = False) -> Transcript:
    """Load a transcript: HEAL's JSON in any of its forms, or a container; the contents decide.

    path        of a file; or its contents as bytes, or a file that is open in binary
    generation  "first" or "later": which of HEAL's op sets it is written in.  By default its ops
                decide; a file whose ops do not decide is taken for the later one, and if it is of
                the first, its `expand(a, repeat, axis)` is misread
    checksums   compare a container's tensors with their checksums at once instead of at their first
                use; ParamError for other forms, which have no checksums

    Raises LoadError where the file is neither or is damaged, OSError where it cannot be read.
    `Transcript.check` verifies the program.  `cloakwork.load` loads programs of every
    kind.
    """
    source = source_of(path)
    refuse_checksums(source, checksums)
    core = read(source, generation=generation, checksums=checksums)
    if not is_transcript(core):
        raise LoadError(f"{source.name}: expected a transcript, got a program: cloakwork.load")
    return Transcript(core, *source.sources)


def sample() -> Path:
    """A small transcript in HEAL's JSON that comes with the package: a product of residues.

    >>> from cloakwork import heal
    >>> heal.load(heal.sample()).run(verify=True).mismatches
    []
    """
    return Path(__file__).with_name("samples") / "residues.json"
