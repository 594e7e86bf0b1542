"""Graphs that change: `ps.DynamicGraph`."""
