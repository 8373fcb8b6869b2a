"""Models that run encrypted, and data for them, as they come with the package."""

from cloakwork.models.cancer import Cancer, load_cancer
from cloakwork.models.digits import Digits, load_digits
from cloakwork.models.fashion import Fashion, load_fashion
from cloakwork.models.networks import NETWORKS, network_path
from cloakwork.models.photograph import Photograph, load_photograph
from cloakwork.models.sentiment import Reviews, load_reviews

__all__ = [
    "NETWORKS",
    "Cancer",
    "Digits",
    "Fashion",
    "Photograph",
    "Reviews",
    "load_cancer",
    "load_digits",
    "load_fashion",
    "load_photograph",
    "load_reviews",
    "network_path",
]
