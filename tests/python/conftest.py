"""For all tests. Scripts that tests start under MPI are no modules to collect doctests from."""

import signal

collect_ignore = ["mpi"]

# A shell that starts a job in the background lets it ignore Ctrl-C; what tests of Ctrl-C ask for is a job in front.
signal.signal(signal.SIGINT, signal.default_int_handler)
