"""The parts of bench/structure.py: searches of graphs with neighbourhoods, as large as one likes."""
