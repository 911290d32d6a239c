"""Benchmarks: ratios between our output and that of others, measured in one run."""
