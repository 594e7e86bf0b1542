"""Looking at matrices and results: statistics, symmetry, and verifiers that compute another way."""
