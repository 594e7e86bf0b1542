"""Where a matrix is cut into tiles, by the work that the tiles will be."""
