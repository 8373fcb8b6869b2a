"""Write all files of vectors."""

from scripts.vectors import fips204, seal, textbook

for module in (seal, fips204, textbook):
    module.write()
