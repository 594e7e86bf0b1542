"""Papers measured again beside our own results, a folder a paper."""
