"""The parts of bench/dist_cpu.py: matrices that the ranks of one host share."""
