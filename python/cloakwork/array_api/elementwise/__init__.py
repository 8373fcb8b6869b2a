"""Functions of each element, or of each pair of elements under broadcasting and promotion."""
