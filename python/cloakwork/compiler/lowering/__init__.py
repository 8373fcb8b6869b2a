"""From a Graph to a function of ciphertexts: layouts, diagonals, levels; in plain NumPy first."""
