"""The sides of benches/fhe.py: processes that make keys once and then run what they are told.

side           one such process, as the benchmark holds it; sides measured in turns
serve          what a side does with requests; runs on Python 3.10
cloakwork_side our own
seal_side      Microsoft SEAL in TenSEAL's wheel
openfhe_side   OpenFHE's wheel
"""
