"""The parts of bench/buono2017.py: Buono et al. 2017, SpMV on matrices larger than the GPU."""
