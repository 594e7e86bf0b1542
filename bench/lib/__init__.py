"""What the benchmarks share: turns and checks, reports and results, matrices and graphs, tables and figures."""
