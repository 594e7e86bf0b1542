"""Krylov methods that are written in Python, over the products and preconditioners of the core."""
