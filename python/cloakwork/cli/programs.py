"""Programs of any kind on the command line: loading, inputs, conversion, runs."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import asdict, dataclass
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING, Any, Unpack, cast

from cloakwork import _core, files
from cloakwork.cli.progress import busy
from cloakwork.cli.words import say_memory, warnings_said
from cloakwork.errors import LoadError, ParamError
from cloakwork.programs import loading
from cloakwork.programs.options import RunOptions
from cloakwork.programs.program import Program
from cloakwork.programs.report import Mismatch, Report, WrongOp
from cloakwork.programs.signature import Carrier, is_carrier
from cloakwork.programs.transcript import Transcript
from cloakwork.recognition import expecting
from cloakwork.wording import listed

if TYPE_CHECKING:
    from cloakwork.programs.transcript import Branch


@dataclass(frozen=True)
class Done:
    """The result of a run of a program of any kind.

    outputs    values by name
    printed    the program's printed labels and tensors
    compared   whether outputs were compared with expected ones; None: the program has none
    held       the references of a search for a wrong op, in words
    """

    outputs: Mapping[str, Any]
    report: Report
    printed: Sequence[tuple[str, _core.Tensor]] = ()
    compared: bool | None = None
    mismatches: Sequence[Mismatch] = ()
    wrong_op: WrongOp | None = None
    held: str | None = None

    def to_json(self) -> dict[str, Any]:
        """Everything except the elements, as JSON's types."""
        tensors = {
            name: value.carried() if isinstance(value, Carrier) else value
            for name, value in self.outputs.items()
        }
        return {
            "outputs": [
                {"name": name, "shape": list(tensor.shape), "dtype": str(tensor.dtype)}
                for name, tensor in tensors.items()
            ],
            "mismatches": [asdict(mismatch) for mismatch in self.mismatches],
            "wrong_op": asdict(self.wrong_op) if self.wrong_op else None,
            "compared": self.compared,
            "held": self.held,
            "report": self.report.to_json(),
        }


@dataclass(frozen=True)
class Comparison:
    """Whether to compare a transcript's outputs with the expected ones, and to find a wrong op."""

    verify: bool = False
    bisect: bool = False


def load(file: Path, generation: str | None = None, *, checksums: bool = False) -> loading.Loaded:
    """The program in a file; `checksums` are compared where the file has some."""
    checksums = checksums and files.is_container(file)
    with busy(f"loading {file.name}"):
        return loading.load(file, generation=generation, checksums=checksums)


def convert(
    program: loading.Loaded, out: Path, branch: str | None, keep: Sequence[str] | None
) -> None:
    """Write a program in the format that the file name implies."""
    with busy(f"writing {out.name}"):
        if isinstance(program, Transcript):
            program.save(out, branch=cast("Branch | None", branch), keep=keep or None)
        else:
            program.save(out)


def read_inputs(
    given: Sequence[str], program: Any = None, keys: Path | None = None, *, insecure: bool = False
) -> dict[str, Any]:
    """The values of `--input` and `--keys`: .npy paths, ciphertexts and evaluation keys.

    program    names its inputs, so that `--input FILE` is the only one, or ciphertexts by name
    insecure   accept ciphertexts and keys below 128 bits of security, with a warning
    """
    with warnings_said():
        inputs = _read_inputs(given, program, keys, insecure)
    if insecure and not any(map(is_carrier, inputs.values())):
        raise ParamError("--insecure", True, "ciphertexts as inputs, whose security it skips")
    return inputs


def _read_inputs(
    given: Sequence[str], program: Any, keys: Path | None, insecure: bool
) -> dict[str, Any]:
    inputs: dict[str, Any] = {}
    for text in given:
        name, separator, file = text.partition("=")
        if separator and not (name and file):
            raise ParamError("--input", text, "NAME=FILE")
        found = {name: _named(text, insecure)} if separator else _unnamed(text, program, insecure)
        _check_encrypted(text, found, program)
        if twice := found.keys() & inputs.keys():
            raise ParamError("--input", text, f"{min(twice)} once")
        inputs |= found
    if keys is None:
        return inputs
    named = program.keys if isinstance(program, Program) else []
    if len(named) != 1 or named[0] in inputs:
        allowed = "a program with one input of evaluation keys, which no --input gives"
        raise ParamError("--keys", str(keys), allowed)
    return inputs | {named[0]: _evaluation_keys(keys, insecure)}


def _named(text: str, insecure: bool) -> Any:
    """The value of `--input NAME=FILE`."""
    name, _, file = text.partition("=")
    value = _value(Path(file), insecure)
    if not isinstance(value, Mapping):
        return value
    if name not in value:
        raise ParamError("--input", text, f"a file with {name}: it holds {listed(value)}")
    return value[name]


def _check_encrypted(text: str, found: Mapping[str, Any], program: Any) -> None:
    """ParamError for inputs that are encrypted, and get something else."""
    examples = program._signature.examples if isinstance(program, Program) else {}
    for name in found.keys() & examples.keys():
        value = found[name]
        # The residues of a ciphertext are integers.
        with expecting("a ciphertext of `cloakwork encrypt`", value, "npy"):
            if isinstance(value, Path) and files.load_npy(value).dtype.kind in {"i", "u"}:
                continue
        if not is_carrier(value):
            allowed = f"a ciphertext of `cloakwork encrypt` for {name}; evaluation keys: --keys"
            raise ParamError("--input", text, allowed)


def _unnamed(text: str, program: Any, insecure: bool) -> dict[str, Any]:
    """The inputs of `--input FILE`."""
    own = program if isinstance(program, Program) else None
    names = [name for name in own.inputs if name not in own.keys] if own is not None else []
    value = _value(Path(text), insecure) if names and text else None
    if isinstance(value, Mapping):
        return dict(value)
    if len(names) != 1 or value is None:
        raise ParamError("--input", text, "NAME=FILE")
    return {names[0]: value}


def _evaluation_keys(path: Path, insecure: bool) -> Any:
    from cloakwork.fhe.files.storage import load_any

    with busy("loading keys"):
        return load_any(keys_file(path), expect="evaluation keys", insecure=insecure)


def keys_file(path: Path) -> Path:
    """The file of evaluation keys: itself, eval.key of a folder, or its name without .key."""
    if path.is_dir():
        return path / "eval.key"
    return path if path.exists() or path.suffix else path.with_suffix(".key")


def files_of(given: Sequence[str], keys: Path | None = None) -> list[Path]:
    """The files that `--input` and `--keys` name."""
    named = [text.partition("=") for text in given]
    found = [Path(file if separator else name) for name, separator, file in named]
    return found if keys is None else [*found, keys_file(keys)]


def _value(file: Path, insecure: bool) -> Any:
    # The reader of arrays refuses anything but a regular file, with a reason.
    if not file.is_file():
        return file
    if file.suffix in _SUFFIXES or files.start(file, len(_ENCRYPTED)) == _ENCRYPTED:
        from cloakwork.fhe.files.container import KINDS, head_of
        from cloakwork.fhe.files.storage import load_any

        wanted = "ciphertexts or evaluation keys"
        with expecting(wanted, file, *KINDS):
            kind = head_of(file).kind
        if kind == "secret key":
            raise LoadError(f"{file}: expected {wanted}, got a secret key, which stays with you")
        return load_any(file, insecure=insecure)
    return file


# The first bytes of files of keys and ciphertexts.
_ENCRYPTED = b"CWFHE"
_SUFFIXES = {".ct", ".key"}


def run(
    program: loading.Loaded, inputs: Mapping[str, Any], comparison: Comparison,
    **options: Unpack[RunOptions],
) -> Done:  # fmt: skip
    """Print the memory that a run needs, and run; inputs and options are the library's."""
    memory = partial(
        say_memory,
        threads=options.get("threads"),
        memory_budget=options.get("memory_budget"),
        optimize=options.get("optimize", True) and not comparison.bisect,
        device=options.get("device", "cpu"),
        fallback=options.get("fallback", True),
    )
    if isinstance(program, Transcript) and not inputs:
        memory(program)
        result = program.run(verify=comparison.verify, bisect=comparison.bisect, **options)
        compared = comparison.verify or comparison.bisect
        return Done(
            result.named, result.report, (), compared, result.mismatches, result.wrong_op,
            result.compared,
        )  # fmt: skip
    if isinstance(program, Transcript):
        if comparison.verify or comparison.bisect:
            why = "no --input: the file expects what its own data give"
            raise ParamError("--verify" if comparison.verify else "--bisect", "--input", why)
        program = program.to_program(list(inputs))
    if isinstance(program, Program):
        program, left = program.prepared(inputs)
        memory(program)
        result = program.run(left, **options)
        return Done(result.named, result.report)
    program.validate()
    memory(program)
    outcome = program.run(inputs, **options)
    return Done(outcome.outputs, outcome.report, outcome.printed)
