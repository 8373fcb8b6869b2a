"""`python -m cloakwork.device` prints the folder of the headers, for a Makefile."""

from cloakwork.device.headers import include_dir

print(include_dir())
