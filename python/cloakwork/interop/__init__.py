"""Other libraries that know tensors once they are told of them; nothing is told unasked."""

from cloakwork.interop.registration import register_dask, register_einops

__all__ = ["register_dask", "register_einops"]
