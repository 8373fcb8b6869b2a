"""Sides of comparisons: processes that make their objects once and then run requested operations.

side           one such process, as the benchmark holds it; sides measured in turns
serve          how a side answers requests; runs on Python 3.10
facts          which build a process imports
build_side     a build of Cloakwork, with the cases of benches/cases.py
cloakwork_side our own, of benches/fhe.py
seal_side      Microsoft SEAL in TenSEAL's wheel
openfhe_side   OpenFHE's wheel

model_side     what sides of models share: inputs, operations, answers; runs on Python 3.10
trees          trees and forests, fitted alike in each environment
*_models_side  models by Cloakwork, TenSEAL, OpenFHE and Concrete-ML, of benches/model_peers.py
"""
