"""How tensors are made of other libraries' arrays, indexed and printed."""
