"""Readers of binary formats that other programs made: graphs, PETSc's matrices, and files of HDF5."""
