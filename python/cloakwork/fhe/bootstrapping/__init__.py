"""CKKS bootstrapping: new levels for ciphertexts that have used theirs up."""

from cloakwork.fhe.bootstrapping.bootstrapping import Bootstrapping
from cloakwork.fhe.bootstrapping.context import bootstrapping_context

__all__ = ["Bootstrapping", "bootstrapping_context"]
