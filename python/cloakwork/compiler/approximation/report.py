"""The approximation of each function, and its cost."""

from __future__ import annotations

from dataclasses import asdict, dataclass
from typing import Any

__all__ = ["ApproximationRow", "table"]


@dataclass(frozen=True)
class ApproximationRow:
    """One function of a model.

    node            the name of its value
    domain          the arguments that it accepts, in each element's scale if `scaled`
    sample          the least and largest argument on the sample, in the same scale
    method          "polynomial", "step" (x times a step), "sign", "extension"
    degrees         of the polynomials, in turn
    error           the largest on the domain, measured; of a jump outside of |x| < gap
    error_sample    the largest for the arguments of the sample
    leaves          the chance that an input of the model leaves the domain, estimated (`outside`);
                    None for a sample of fewer than 40 rows
    harmless        how far beyond the domain values stay close to the function, in half lengths
    """

    node: str
    function: str
    domain: tuple[float, float]
    sample: tuple[float, float]
    scaled: bool
    method: str
    degrees: tuple[int, ...]
    depth: int
    key_switches: int
    error: float
    gap: float
    error_sample: float
    leaves: float | None
    harmless: float

    def to_json(self) -> dict[str, Any]:
        """A form for JSON."""
        return asdict(self)

    @property
    def beyond(self) -> str:
        """The behaviour beyond the domain."""
        if self.harmless >= 1:
            return "harmless up to twice the domain"
        return f"harmless up to {100 * self.harmless:.2g} % beyond, then grows fast"


_HEADS = (
    "node", "function", "domain", "method", "degrees", "levels", "products", "error",
    "on sample", "leaves", "beyond",
)  # fmt: skip


def table(rows: tuple[ApproximationRow, ...]) -> str:
    """The rows as text."""
    cells = [_HEADS, *map(_cells, rows)]
    widths = [max(map(len, column)) for column in zip(*cells, strict=True)]
    return "\n".join(
        "  ".join(cell.ljust(width) for cell, width in zip(row, widths, strict=True)).rstrip()
        for row in cells
    )


def _cells(row: ApproximationRow) -> tuple[str, ...]:
    low, high = row.domain
    return (
        row.node,
        row.function,
        f"[{low:.4g}, {high:.4g}]" + (" scaled" if row.scaled else ""),
        row.method,
        " ".join(map(str, row.degrees)),
        str(row.depth),
        str(row.key_switches),
        f"{row.error:.2g}",
        f"{row.error_sample:.2g}",
        "unknown" if row.leaves is None else f"{row.leaves:.1g}",
        row.beyond,
    )
