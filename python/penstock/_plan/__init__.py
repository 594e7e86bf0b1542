"""Where bytes are, how a product walks a matrix, what that takes, and the plans that are kept for GPUs."""
