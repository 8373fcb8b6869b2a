"""Parameters with the tensors derived from them: one ring a level."""

from __future__ import annotations

from cloakwork.errors import LevelError
from cloakwork.fhe.parameters import Parameters
from cloakwork.fhe.ring import LastLimb, Ring


class Context:
    """NTT tables and constants of `parameters` for every level.

    Built before tracing, so that a traced program holds the tables as constants.  Takes
    2 N * 8 bytes a limb and level.
    """

    def __init__(self, parameters: Parameters) -> None:
        moduli = parameters.moduli
        self.parameters = parameters
        self.rings = tuple(
            Ring(parameters.degree, moduli[: level + 1]) for level in range(parameters.level + 1)
        )
        self._last_limbs = tuple(LastLimb.of(ring) for ring in self.rings[1:])

    @property
    def top(self) -> Ring:
        """The ring of fresh ciphertexts, with every limb."""
        return self.rings[-1]

    def ring(self, level: int, op: str) -> Ring:
        """The ring at `level`; LevelError naming `op` where there is none."""
        if not 0 <= level < len(self.rings):
            raise LevelError(
                op,
                f"a level from 0 to {len(self.rings) - 1}",
                level,
                "use the context that made the operand",
            )
        return self.rings[level]

    def last_limb(self, level: int) -> LastLimb:
        """What rescaling from `level` >= 1 needs."""
        return self._last_limbs[level - 1]

    def __repr__(self) -> str:
        return f"Context({self.parameters})"
