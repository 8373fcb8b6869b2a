"""Programs recorded from Python functions with annotated parameters."""
