"""Parts of the model of products of tiles: what nodes share, and products by a vertex cover."""
