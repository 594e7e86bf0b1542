"""Products over nodes with several ranks: what these share, and what crosses."""
