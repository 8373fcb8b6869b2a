"""Functions by NumPy's names that the array API standard does not have, one topic a module."""
