"""The files of circom and snarkjs: circuits, witnesses, keys, proofs."""
