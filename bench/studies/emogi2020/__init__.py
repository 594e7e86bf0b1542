"""The parts of bench/emogi2020.py: Min et al. 2020, graph searches over the link."""
