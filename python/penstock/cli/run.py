"""`penstock run`: a script on several ranks, by the mpiexec of the MPI that the library will use."""

from __future__ import annotations

import sys
from typing import Annotated

import typer

from penstock.cli import ui

RANKS_HELP = "How many ranks."
THREADS_HELP = "Threads of each rank; by default the cores are shared out among the ranks."
GRACE_HELP = "Seconds that ranks have to end after a signal, until they are killed."
MODULE_HELP = "Run a module, as python -m does; its name stands in the place of the script."


def run(
    words: Annotated[
        list[str], typer.Argument(metavar="SCRIPT [ARGUMENTS]...", show_default=False)
    ],
    ranks: Annotated[int, typer.Option("--ranks", "-n", min=1, help=RANKS_HELP)],
    threads: Annotated[int | None, typer.Option(min=1, help=THREADS_HELP)] = None,
    grace: Annotated[float, typer.Option(min=0, help=GRACE_HELP)] = 1.5,
    module: Annotated[bool, typer.Option("--module", "-m", help=MODULE_HELP)] = False,
) -> None:
    """Run a Python script on several ranks: processes that MPI connects. In the script, penstock.dist.world()
    is this rank's communicator.

    If a rank fails the job ends, and one message names the rank and the cause. SIGINT, SIGTERM, SIGHUP and SIGQUIT
    are passed on to the ranks. Exit code: the script's; 1 after an exception; 128 + n where signal n killed a rank or
    was passed on.
    """
    from penstock.dist import _launch

    code, why = _launch.run(["-m", *words] if module else words, ranks, threads, grace)
    if why is not None:
        ui.complain(why)
    sys.stdout.flush()
    raise typer.Exit(code)
