"""Matrices with more rows or columns than 32 bits count, of which ranks hold those that have entries."""
