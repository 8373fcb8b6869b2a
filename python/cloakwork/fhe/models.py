"""`fhe.compile` and `fhe.load_model`: models as encrypted programs."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, Literal

if TYPE_CHECKING:
    from collections.abc import Callable

    from cloakwork.compiler.compiled import CompiledModel
    from cloakwork.compiler.progress import Progress
    from cloakwork.files import Readable


def compile(  # noqa: PLR0913 (compilers are called so, and have options)
    model: Any,
    sample: Any,
    *,
    scheme: str = "ckks",
    optimize: str = "latency",
    degree: int | None = None,
    security: int = 128,
    margin: float = 0.25,
    precision: float | None = None,
    bounds: Any = None,
    bootstrap: bool | Literal["auto"] = "auto",
    guard: bool = True,
    reveal: Literal["scores", "results"] = "scores",
    insecure: bool = False,
    memory_budget: int | str | None = None,
    progress: Callable[[Progress], object] | None = None,
) -> CompiledModel:
    """Compile a model to a program on encrypted inputs.

    model      a path or the bytes of an ONNX model, an onnx.ModelProto, a scikit-learn estimator, a
               torch module, or a `Graph` of the compiler
    sample     inputs [batch, *shape] like those to come, or by name: they determine the ranges of
               values; the first of them are also run encrypted, to measure the error
    scheme     "ckks"
    optimize   "latency": one input in the shortest time.  "memory": one input with the least keys
               and weights.  "throughput": as many inputs as there are slots
    degree     this one instead of the least that is exact enough
    security   128, 192 or 256 bits; `insecure` skips the check, for tests with small degrees
    margin     ranges of the sample are widened on both sides by this share of their width, 0 to 10
    precision  the largest error of an output, in its unit; by default 1 % of the largest output
    bounds     (low, high) of the inputs instead of the sample's, or by name; numbers, or arrays of
               an input's shape.  By default those of the sample with four times the margin, or the
               margin without guard, of each feature, or of all elements of pictures, of sequences
               and of features of one unit
    bootstrap  "auto": where a model is deeper than any modulus chain.  True: always.  False: never,
               such a model is refused
    guard      whether results are right for every accepted input, or refused: the first modulus has
               room for all of them, and decryption raises OutsideError where an input brought
               values out of the domains of approximations.  Without it, and with bootstrapping,
               inputs unlike the sample may give wrong results without a word
    reveal     "scores": the client computes functions, sums and products at the end, from no more
               numbers than the model has outputs, and sees these.  "results": only what it always
               computes, as softmax and labels: the rest is encrypted, and slower
    memory_budget   bytes, or text such as "2GiB": the most memory of trials, beyond what the
               process holds at the start.  Counted are keys, ciphertexts, tables, encoded weights,
               their diagonals before that, and a run's own memory; not the model and the sample,
               what conversion and approximation make of them, and other threads' work.  Parameters
               and layouts whose predicted peak is larger are not tried, or recorded without keys
               where errors of a small degree suffice
    progress   called before each stage with a record: stage, candidate, left, degree, and the
               estimated seconds and bytes.  Its exceptions end compiling

    Raises ModelError for models and samples that it cannot take, ParamError for options and where
    no parameters suffice or keep to the budget, whose least sufficient value it names,
    MemoryBudgetError where a run takes more memory than this machine has.

    Cached memory is returned to the system before and after trials, as by `release_cached`.
    """
    from cloakwork.compiler.compiling import compiled
    from cloakwork.fhe.security import admit, admitted_later

    # Many parameters may be tried: one warning, of those that are found.
    with admitted_later():
        made = compiled(
            model,
            sample,
            scheme=scheme,
            optimize=optimize,
            degree=degree,
            security=security,
            margin=margin,
            precision=precision,
            bounds=bounds,
            bootstrap=bootstrap,
            guard=guard,
            reveal=reveal,
            insecure=insecure,
            memory_budget=memory_budget,
            progress=progress,
        )
    admit(made.context.parameters, "fhe.compile", insecure=insecure)
    return made


def load_model(path: Readable, *, insecure: bool = False) -> CompiledModel:
    """A compiled model from its file alone.

    path       of a file; or its contents as bytes, or a file that is open in binary
    insecure   accept, with an InsecureWarning, parameters with less than 128 bits of security

    Raises LoadError for a truncated or altered file, one without a compiled model, and, without
    `insecure`, for what it accepts; OSError for one that cannot be read.
    """
    from cloakwork.compiler.compiled import read_model

    return read_model(path, insecure=insecure)
