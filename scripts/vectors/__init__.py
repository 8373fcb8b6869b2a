"""Known answers of other software, written to tests/vectors as JSON with their provenance.

    python -m venv peers && peers/bin/pip install tenseal==0.3.18 dilithium-py==1.5.1
    peers/bin/python -m scripts.vectors

files     the form of a file, and the rule for long inputs
seal      transforms, base conversion, rescaling and automorphisms by Microsoft SEAL
fips204   the transform of ML-DSA by dilithium-py
textbook  worked examples of a tutorial, copied from it
"""
