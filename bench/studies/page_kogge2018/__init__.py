"""The parts of bench/page_kogge2018.py: Page and Kogge 2018, layouts of distributed SpMV."""
