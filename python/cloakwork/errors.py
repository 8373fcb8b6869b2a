"""Every exception that Cloakwork raises on purpose, under one base class.

Messages name the place, what was expected, what came and what to do.  The figures are attributes
too, so that a program can act on them.  No message ever holds a secret value.
"""

from __future__ import annotations


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


class EncodeError(CloakworkError, ValueError):
    """Values cannot be encoded: not finite, too many, or too large for the scale."""


class LevelError(CloakworkError, ValueError):
    """An operand stands at the wrong level, or has no modulus left to give up."""

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
        return f"{self.op}: needs {self.needed}, got scale 2^{self.scale_log2:.4f}; {self.hint}"


class MissingKeyError(CloakworkError, LookupError):
    """An operation needs a key that the evaluator was not given, or that was released."""


class ModelError(CloakworkError, ValueError):
    """A model file is not one that can be run encrypted."""
