"""The Python array API standard, 2025.12, area by area; `cloakwork` itself is the namespace."""
