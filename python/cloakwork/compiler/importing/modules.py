"""Modules of torch: torch.export finds what they compute, and an exporter writes it as ONNX."""

from __future__ import annotations

import logging
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from importlib.util import find_spec
from io import BytesIO
from typing import Any
from warnings import catch_warnings, simplefilter

import numpy as np

from cloakwork.compiler.graph import Graph
from cloakwork.compiler.importing.proving import Original, Rows, with_batch
from cloakwork.compiler.importing.reading import shortened
from cloakwork.compiler.importing.walking import from_onnx
from cloakwork.errors import ModelError

_OPSET, _OLDER_OPSET = 18, 17
_ADVICE = (
    "the exporter records one way through the module: take torch.where instead of conditions on "
    "values, and no random numbers"
)
_NOT_EXPORTED = "take torch.where instead of conditions on values, or give an ONNX file"


def from_module(given: Any, sample: Any) -> tuple[Graph, Original]:
    """The graph of a module in evaluation mode, and the module.

    given    a torch.nn.Module, or a torch.export.ExportedProgram
    sample   [batch, ...], or such arrays by the names of what `forward` takes: integers are given
             to the module as int64, all else in its own floats
    """
    name = type(given).__name__
    try:
        import torch
    except ImportError as error:
        raise ModelError(
            f"{name}: exporting a torch module needs torch: pip install torch"
        ) from error
    if sample is None:
        raise ModelError(f"{name}: expected a sample [batch, ...], which tells the input's shape")
    module = Module(name, torch, given if hasattr(given, "forward") else given.module())
    try:
        given_rows = sample if isinstance(sample, Mapping) else {"input": sample}
        rows = {key: np.asarray(values) for key, values in given_rows.items()}
    except (RuntimeError, TypeError, ValueError) as error:
        raise ModelError(
            f"{name}: expected a sample that NumPy reads: {error}; give "
            "sample.detach().float().numpy() of a tensor"
        ) from error
    first = {key: np.atleast_1d(values)[:1] for key, values in rows.items()}
    if not all(np.ndim(values) and len(first[key]) for key, values in rows.items()):
        raise ModelError(f"{name}: expected a sample [batch, ...] of one row at least")
    graph, _ = from_onnx(module.as_onnx(first, named=isinstance(sample, Mapping)))
    return graph, Original(name, module.results, True, _ADVICE)


class Module:
    """A module, which is called in evaluation mode with one row."""

    def __init__(self, name: str, torch: Any, module: Any) -> None:
        self.name, self.torch, self.module = name, torch, module
        own = [one for one in module.parameters() if one.is_floating_point()]
        self.dtype = own[0].dtype if own else torch.float32
        self.device = own[0].device if own else torch.device("cpu")
        # Inputs that are integers in the sample are integers in every row, which comes as floats.
        self.whole: set[str] = set()
        self.named = False

    def as_onnx(self, first: Rows, *, named: bool) -> bytes:
        """The module as ONNX, for inputs with the shapes of this row, given by name or alone."""
        self.named = named
        self.whole = {key for key, values in first.items() if values.dtype.kind in "iub"}
        with _evaluating(self.module), _quiet():
            outputs = self._outputs(first)
            program = self._program(first)
            names = {"input_names": list(first), "output_names": outputs}
            if program is not None and find_spec("onnxscript") is not None:
                made = self._written(program, names)
                if made is not None:
                    return made
            return self._recorded(first, names)

    def results(self, rows: Rows) -> list[Mapping[str, Any]]:
        """The module's results for one row."""
        with _evaluating(self.module):
            found = self._called(rows)
        return [{"the module": with_batch(each.detach().cpu())} for each in _flat(found)]

    def _called(self, rows: Rows) -> Any:
        args, kwargs = self._arguments(rows)
        with self.torch.no_grad():
            return self.module(*args, **kwargs)

    def _arguments(self, rows: Rows) -> tuple[tuple[Any, ...], dict[str, Any]]:
        made = {key: self._tensor(key, values) for key, values in rows.items()}
        return ((), made) if self.named else (tuple(made.values()), {})

    def _tensor(self, key: str, values: Any) -> Any:
        dtype = self.torch.int64 if key in self.whole else self.dtype
        # A copy: modules may change their inputs in place.
        array = np.array(values, np.int64 if key in self.whole else np.float64)
        return self.torch.from_numpy(array).to(self.device, dtype)

    def _outputs(self, first: Rows) -> list[str]:
        """The names of the results: those of a mapping, else output, or output_0, output_1, ..."""
        try:
            found = self._called(first)
        except Exception as error:  # whatever the module's own code raises
            raise ModelError(
                f"{self.name}: cannot be called with the first row of the sample: "
                f"{shortened(error)}"
            ) from error
        if isinstance(found, Mapping) and all(hasattr(one, "detach") for one in found.values()):
            return [str(key) for key in found]
        count = len(_flat(found))
        return ["output"] if count == 1 else [f"output_{place}" for place in range(count)]

    def _program(self, first: Rows) -> Any:
        """The program of torch.export, which refuses conditions on values; None in an old torch."""
        export = getattr(getattr(self.torch, "export", None), "export", None)
        if export is None:
            return None
        args, kwargs = self._arguments(first)
        try:
            return export(self.module, args, kwargs, strict=False)
        except Exception as error:  # torch raises many classes for what it cannot export
            raise ModelError(
                f"{self.name}: torch.export cannot tell what it computes for every input; "
                f"{_NOT_EXPORTED}: {shortened(error)}"
            ) from error

    def _written(self, program: Any, names: Mapping[str, Any]) -> bytes | None:
        """The program as ONNX; None where the exporter has no form for one of its functions."""
        try:
            made = self.torch.onnx.export(
                program, opset_version=_OPSET, dynamo=True, verbose=False, **names
            )
            contents: bytes = made.model_proto.SerializeToString()
        except Exception:  # the older exporter may have one
            return None
        return contents

    def _recorded(self, first: Rows, names: Mapping[str, Any]) -> bytes:
        """By the older exporter, which records one call."""
        held = BytesIO()
        args, kwargs = self._arguments(first)
        # Keyword arguments are a last mapping for it.
        given = (*args, kwargs) if kwargs else args
        try:
            self.torch.onnx.export(
                self.module, given, held, opset_version=_OLDER_OPSET, dynamo=False, **names
            )
        except Exception as error:
            more = "" if find_spec("onnxscript") else "; pip install onnxscript, for its newer one"
            raise ModelError(
                f"{self.name}: torch cannot export it to ONNX: {shortened(error)}{more}"
            ) from error
        return held.getvalue()


@contextmanager
def _evaluating(module: Any) -> Iterator[None]:
    """With all parts in evaluation mode, which have their own modes afterwards."""
    modes = [(part, part.training) for part in module.modules()]
    # Modules of exported programs have no modes: their way is that of their export.
    if any(training for _, training in modes) and type(module).__name__ != "GraphModule":
        module.eval()
    try:
        yield
    finally:
        for part, training in modes:
            part.training = training


@contextmanager
def _quiet() -> Iterator[None]:
    """Without the exporters' warnings, which are about their own ways."""
    logger = logging.getLogger("torch")
    before = logger.level
    logger.setLevel(logging.CRITICAL)
    try:
        with catch_warnings():
            simplefilter("ignore")
            yield
    finally:
        logger.setLevel(before)


def _flat(found: Any) -> Sequence[Any]:
    """The tensors of a result, in the exporters' order."""
    if isinstance(found, Mapping):
        found = list(found.values())
    if isinstance(found, tuple | list):
        return [each for part in found for each in _flat(part)]
    return [] if found is None else [found]
