"""Every exception that Cloakwork raises on purpose, under one base class.

Messages name the place, what was expected, what came and what to do.  The figures are attributes
too, so that a program can act on them.  No message ever holds a secret value.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from cloakwork.programs.report import Finding

# Findings that a message shows; all of them are in `ProgramError.findings`.
_FINDINGS_SHOWN = 5


class CloakworkError(Exception):
    """Base class of all errors that Cloakwork raises on purpose."""


class ParamError(CloakworkError, ValueError):
    """Scheme parameters break a rule.

    `rule` is a stable name for the rule (one a way of being invalid), `value` what was given,
    `allowed` the range in words.
    """

    def __init__(self, rule: str, value: object, allowed: str) -> None:
        super().__init__(rule, value, allowed)
        self.rule, self.value, self.allowed = rule, value, allowed

    def __str__(self) -> str:
        return f"{self.rule}: got {self.value}, expected {self.allowed}"


class DTypeError(ParamError, TypeError):
    """An unknown dtype, or one that a function does not accept."""


class AxisError(ParamError, IndexError):
    """An axis that a tensor does not have, or one named twice."""


class UnknownNameError(ParamError, KeyError):
    """A name that a set does not have."""


class LinAlgError(CloakworkError, ValueError):
    """A matrix has no such factors, inverse or solution, or the algorithm did not converge."""


class EncodeError(CloakworkError, ValueError):
    """Values cannot be encoded: not finite, too many, or too large for the scale."""


class LevelError(CloakworkError, ValueError):
    """An operand is at the wrong level, or has no modulus left to drop."""

    def __init__(self, op: str, needed: str, level: int, hint: str) -> None:
        super().__init__(op, needed, level, hint)
        self.op, self.needed, self.level, self.hint = op, needed, level, hint

    def __str__(self) -> str:
        return f"{self.op}: needs {self.needed}, operand is at level {self.level}; {self.hint}"


class ScaleError(CloakworkError, ValueError):
    """Scales of operands differ, or a scale leaves no room under the modulus."""

    def __init__(self, op: str, needed: str, scale_log2: float, hint: str) -> None:
        super().__init__(op, needed, scale_log2, hint)
        self.op, self.needed, self.scale_log2, self.hint = op, needed, scale_log2, hint

    def __str__(self) -> str:
        return f"{self.op}: needs {self.needed}, got scale 2^{self.scale_log2:.9f}; {self.hint}"


class NoiseError(CloakworkError, ValueError):
    """The noise of a result exceeds its budget; `budget_log2` is the remaining budget.

    `what` says which budget: BGV's noise budget, CKKS's precision, or the room of the modulus.
    The budget is None where it was measured with the secret: logs must not reveal the secret.
    """

    def __init__(
        self,
        op: str,
        budget_log2: float | None,
        hint: str,
        what: str = "would leave {} of noise budget",
    ) -> None:
        super().__init__(op, budget_log2, hint, what)
        self.op, self.budget_log2, self.hint, self.what = op, budget_log2, hint, what

    def __str__(self) -> str:
        left = "" if self.budget_log2 is None else f"{self.budget_log2:.1f} bits"
        return f"{self.op}: {self.what.format(left)}; {self.hint}"


class MissingKeyError(CloakworkError, LookupError):
    """An operation needs a key that the evaluator was not given, or that was released."""


class KeyMismatchError(CloakworkError, ValueError):
    """Operands, keys or files belong to different parameters or secrets.

    `what` is "parameters" or "key"; `expected` and `got` are fingerprints.
    """

    def __init__(self, op: str, what: str, expected: str, got: str, hint: str) -> None:
        super().__init__(op, what, expected, got, hint)
        self.op, self.what, self.expected, self.got, self.hint = op, what, expected, got, hint

    def __str__(self) -> str:
        expected, got = self.expected[:8], self.got[:8]
        return f"{self.op}: expected {self.what} {expected}..., got {got}...; {self.hint}"


class EncryptedValueError(CloakworkError, TypeError):
    """An operation that encrypted values do not support; `hint` names the alternative."""

    def __init__(self, op: str, hint: str) -> None:
        super().__init__(op, hint)
        self.op, self.hint = op, hint

    def __str__(self) -> str:
        return f"{self.op}, with an encrypted x: {self.hint}"


class ModelError(CloakworkError, ValueError):
    """A model file that cannot be run encrypted."""


class NoReportError(ModelError, AttributeError):
    """A model from a file has its report as JSON alone: `report_json`."""


class OutsideError(ModelError):
    """An input brought values out of the range in which the compiled program is the model."""


class OpError(CloakworkError, ValueError):
    """An op was called with arguments that it does not accept.

    `code` is a stable name for the kind of mistake, `operand` the parameter it is about (empty:
    the whole call).
    """

    def __init__(
        self, op: str, code: str, operand: str, expected: str, got: str, hint: str
    ) -> None:
        super().__init__(op, code, operand, expected, got, hint)
        self.op, self.code, self.operand = op, code, operand
        self.expected, self.got, self.hint = expected, got, hint

    def __str__(self) -> str:
        place = f"`{self.operand}`: " if self.operand else ""
        advice = f"; {self.hint}" if self.hint else ""
        return f"{self.op}: {place}expected {self.expected}, got {self.got}{advice}"


class OpTypeError(OpError, TypeError):
    """An op was called with a dtype, or a kind or number of arguments, that it does not accept."""


class OpIndexError(OpError, IndexError):
    """An op was called with an axis or an index out of range."""


class TensorIndexError(CloakworkError, IndexError):
    """An index out of range, or one that is not an integer, slice, `...` or None."""


class TraceError(CloakworkError, TypeError):
    """Something that a program cannot record: needs elements, randomness, or another trace."""


class SecretError(CloakworkError, TypeError):
    """Something that would reveal a secret, or put it into a program or a file."""


class SendError(CloakworkError, TypeError):
    """An object that stays in its process; the message says what to send instead."""


class LoadError(CloakworkError, ValueError):
    """A file is not a program, a key or a ciphertext, or it is incomplete.

    The message names the place, what was expected and what came.
    """


class SaveError(CloakworkError, ValueError):
    """A program cannot be expressed in a file's format."""


class ProgramError(CloakworkError, ValueError):
    """A program has errors; `findings` holds all that was found, warnings too."""

    def __init__(self, findings: Sequence[Finding]) -> None:
        super().__init__(findings)
        self.findings = list(findings)

    @property
    def errors(self) -> list[Finding]:
        """The findings that prevent a run."""
        return [finding for finding in self.findings if finding.severity == "error"]

    def __str__(self) -> str:
        errors = self.errors
        lines = [str(finding) for finding in errors[:_FINDINGS_SHOWN]]
        if len(errors) > _FINDINGS_SHOWN:
            lines.append(f"and {len(errors) - _FINDINGS_SHOWN} more")
        return "\n".join([f"the program has {_count(errors, 'error')}:", *lines])


class PlanError(CloakworkError, ValueError):
    """A program cannot be planned for this machine."""


class FallbackError(PlanError):
    """Steps would run on the host instead of a device, and the call allows none; nothing was run.

    `steps` holds the number, the op and the reason of each.
    """

    def __init__(self, message: str, steps: list[tuple[int, str, str]]) -> None:
        super().__init__(message, steps)
        self.steps = steps

    def __str__(self) -> str:
        return str(self.args[0])


class MemoryBudgetError(PlanError):
    """A program needs more memory than its budget; nothing was run.

    `peak_bytes` is the need without spilling, `budget_bytes` the budget. `least_bytes` is the
    smallest budget with which the same call succeeds, with as many tensors as possible on disk
    (unless it has a second budget that is too small); None for the budget of a device other than
    the host, whose tensors never wait on disk.
    """

    def __init__(
        self, message: str, peak_bytes: int, budget_bytes: int, least_bytes: int | None = None
    ) -> None:
        super().__init__(message, peak_bytes, budget_bytes, least_bytes)
        self.peak_bytes, self.budget_bytes = peak_bytes, budget_bytes
        self.least_bytes = least_bytes

    def __str__(self) -> str:
        return str(self.args[0])


class ProofError(CloakworkError, ValueError):
    """A proof, its public signals or a key are malformed, or of different circuits or curves."""


class WitnessError(CloakworkError, ValueError):
    """A witness does not satisfy its circuit; `constraint` is the first that fails, if known."""

    def __init__(self, message: str, constraint: int | None = None) -> None:
        super().__init__(message, constraint)
        self.constraint = constraint

    def __str__(self) -> str:
        return str(self.args[0])


class RunError(CloakworkError, RuntimeError):
    """A run could not be finished."""


class AssertionFailedError(RunError):
    """An `AssertEq` of a program does not hold; `index` is of the first element that differs."""

    def __init__(self, instruction: str, index: int, message: str) -> None:
        super().__init__(instruction, index, message)
        self.instruction, self.index, self.message = instruction, index, message

    def __str__(self) -> str:
        return f"{self.instruction}: {self.message}: element {self.index} differs"


class FunctionError(RunError):
    """A user function of a program raised, or returned what the program does not accept."""


class ContentsError(RunError):
    """A computed tensor holds values that an op does not accept; `call` says which op.

    `place` is the step, or the instruction that it comes from.
    """

    def __init__(self, step: int, call: OpError, place: str = "") -> None:
        super().__init__(step, call, place)
        self.step, self.call, self.place = step, call, place or f"step {step}"

    def __str__(self) -> str:
        return f"{self.place}: {self.call}"


class DeviceLostError(RunError):
    """A device does nothing more: its driver's process ended or was ended, or its context broke.

    `reason` says how, and in which call; `step` is the program's step that the call was for, or
    None, and `place` names it with its op.
    """

    def __init__(
        self, device: str, reason: str, step: int | None = None, place: str | None = None
    ) -> None:
        super().__init__(device, reason, step, place)
        self.device, self.reason, self.step, self.place = device, reason, step, place

    def __str__(self) -> str:
        where = f"{self.place}: " if self.place else ""
        return f"{where}{self.device}: {self.reason}"


class InputError(CloakworkError, ValueError):
    """An input has a type other than the program declares."""

    def __init__(self, name: str, expected: str, got: str) -> None:
        super().__init__(name, expected, got)
        self.name, self.expected, self.got = name, expected, got

    def __str__(self) -> str:
        return f"input {self.name}: expected {self.expected}, got {self.got}"


class OutOfMemoryError(CloakworkError, MemoryError):
    """The system refused to allocate memory."""

    def __init__(self, size_bytes: int) -> None:
        super().__init__(size_bytes)
        self.size_bytes = size_bytes

    def __str__(self) -> str:
        return f"the system has no {self.size_bytes} bytes of memory to give"


class DeviceError(CloakworkError, LookupError):
    """The device does not exist, or cannot be used."""

    def __init__(self, device: str, available: Sequence[str], reason: str = "") -> None:
        super().__init__(device, available, reason)
        self.device, self.available, self.reason = device, list(available), reason

    def __str__(self) -> str:
        named = 'GPUs are devices: x.to("cuda:0"), run(device="cuda:0")' if self.is_gpu else ""
        reason = "".join(f"; {text}" for text in [self.reason or named] if text)
        listed = ", ".join(self.available)
        return f"unknown device {self.device!r}{reason}; available: {listed}"

    @property
    def is_gpu(self) -> bool:
        """Whether the device would be a GPU, such as "cuda:0"."""
        return self.device.partition(":")[0].lower() in ("cuda", "gpu")


class DriverError(CloakworkError, ValueError):
    """The driver of a device cannot be used: its library, its table, or its class is wrong."""

    def __init__(self, driver: str, reason: str) -> None:
        super().__init__(driver, reason)
        self.driver, self.reason = driver, reason

    def __str__(self) -> str:
        return f"driver {self.driver}: {self.reason}"


class DeclarationError(CloakworkError, ValueError):
    """The declaration of a vendor's op is wrong: its file, and the line where."""

    def __init__(self, file: str, line: int, expected: str, got: str) -> None:
        super().__init__(file, line, expected, got)
        self.file, self.line, self.expected, self.got = file, line, expected, got

    def __str__(self) -> str:
        return f"{self.file}, line {self.line}: expected {self.expected}, got {self.got}"


class ServingError(CloakworkError, RuntimeError):
    """A server refused a request, or could not be asked.

    `status` is HTTP's, or 0 where no answer came; `error` names the place, `hint` what to do.
    `retry_seconds` is the server's advice when to ask again, if it gave one.
    """

    def __init__(
        self,
        status: int,
        error: str,
        expected: str,
        got: str,
        hint: str,
        retry_seconds: int | None = None,
    ) -> None:
        super().__init__(status, error, expected, got, hint, retry_seconds)
        self.status, self.error, self.expected, self.got = status, error, expected, got
        self.hint, self.retry_seconds = hint, retry_seconds

    def __str__(self) -> str:
        advice = f"; {self.hint}" if self.hint else ""
        return f"{self.error}: expected {self.expected}, got {self.got}{advice}"


class InternalError(CloakworkError, RuntimeError):
    """An error in Cloakwork itself: please report it."""


def _count(things: Sequence[object], name: str) -> str:
    return f"{len(things)} {name}{'' if len(things) == 1 else 's'}"
