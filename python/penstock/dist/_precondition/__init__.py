"""Multigrid over ranks, and the names of all preconditioners over ranks."""
