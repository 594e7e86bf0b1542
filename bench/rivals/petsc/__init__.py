"""PETSc as a rival: a program of its own, whose ranks wait between their turns."""
