"""Files of other libraries: what they encrypted is computed on here, and they decrypt the results.

>>> from cloakwork.fhe.interop import seal

docs/fhe.md has a table of what is read and written.
"""
