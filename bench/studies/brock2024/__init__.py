"""The parts of bench/brock2024.py: Brock et al. 2024, one-sided products of sparse matrices."""
