"""What users have (NumPy, SciPy, tensors) as arrays that the core takes. Knows no matrix of this package."""
