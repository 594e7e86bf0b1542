"""`Solver` and `refine`: one set-up for many right-hand sides."""
