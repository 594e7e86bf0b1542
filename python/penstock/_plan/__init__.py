"""The planner: where bytes are, how a product walks a matrix, what that takes, and the plans that are kept for GPUs.

`decision.decide` is asked by every product and by `A.explain`. It looks for a plan (streaming), compares GPUs with the
CPU (choice) by the model (model, machine, probe), and leaves to the core what fits a GPU (`_core.gpu_room`) and what a
product takes on the CPU (`_core.price`).
"""
