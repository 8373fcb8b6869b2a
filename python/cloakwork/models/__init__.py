"""Models that run encrypted, and the digits that come with the package."""

from cloakwork.models.digits import Digits, load_digits, load_digits_model
from cloakwork.models.square_mlp import SquareMlp

__all__ = ["Digits", "SquareMlp", "load_digits", "load_digits_model"]
