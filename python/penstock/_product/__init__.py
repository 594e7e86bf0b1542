"""Products: what they check, where they go, and vectors on GPUs. Takes matrices, and makes none."""
