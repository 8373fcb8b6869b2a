"""Functions of a Graph become polynomials, with errors measured on their domains and on a sample.

recipes     ways to compute one function, from cheap to exact
domains     the arguments that a function must accept
choosing    which recipe each function takes, so that outputs deviate little
emitting    the nodes of the chosen recipes
outside     arguments beyond a domain: how likely, and how harmful
report      what was chosen, and what it costs
"""

from cloakwork.compiler.approximation.approximate import Approximation, approximate
from cloakwork.compiler.approximation.options import ApproximationOptions
from cloakwork.compiler.approximation.report import ApproximationRow

__all__ = [
    "Approximation",
    "ApproximationOptions",
    "ApproximationRow",
    "approximate",
]
