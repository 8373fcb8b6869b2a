"""Keys and ciphertexts as files."""
