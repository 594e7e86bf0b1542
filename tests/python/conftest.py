"""Scripts that tests start under MPI are no modules to collect doctests from."""

collect_ignore = ["mpi"]
