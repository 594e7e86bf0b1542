"""What `AMG` consists of beside its levels: its arguments, its report, and cycles as a solver."""
