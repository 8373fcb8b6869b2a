"""Programs of the instruction set: built, loaded, saved, run; types and values of registers."""
