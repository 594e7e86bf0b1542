"""The parts of bench/cardellini2014.py: Cardellini et al. 2014, halos between GPUs."""
