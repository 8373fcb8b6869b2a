"""A server of proofs, and its client: docs/prover-server.md describes both."""
