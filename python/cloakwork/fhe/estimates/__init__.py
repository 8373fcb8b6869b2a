"""Estimates of noise and of the values that ciphertexts hide."""
