"""The building blocks of provers: fields, transcripts, hashes, lookups, polynomials, randomness."""
