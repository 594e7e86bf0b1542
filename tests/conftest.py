"""For all tests: one file, since pytest takes doctests from each conftest.py, and two of that name clash."""

import signal

# Scripts that tests start as ranks, under MPI or without, and a plugin are no modules to collect doctests from.
collect_ignore = [
    "python/dist/mpi",
    "attack/jobs",
    "cluster/measuring.py",
    "cluster/work.py",
    "cluster/work_tiles.py",
    "peers/substitute.py",
]

# A shell that starts a job in the background lets it ignore Ctrl-C and SIGQUIT; tests of these want a job in front.
signal.signal(signal.SIGINT, signal.default_int_handler)
signal.signal(signal.SIGQUIT, signal.SIG_DFL)
