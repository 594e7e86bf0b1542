"""Eigenvalues and singular values of our own: block methods whose products read the matrix once for several columns."""
