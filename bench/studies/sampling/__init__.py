"""Samples, walks and rows of features on a GPU."""
