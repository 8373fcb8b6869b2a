"""Keys: the client's secret, the public key, the server's evaluation keys; decryption."""
