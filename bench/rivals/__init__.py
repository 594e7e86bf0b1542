"""The other libraries that the benchmarks compare with, a file a library or a subject."""
