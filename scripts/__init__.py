"""Tools of the repository. None of this is installed with the package."""
