"""Readers and writers of files: `formats` has the table of them, `store` the native format."""
