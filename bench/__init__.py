"""Measures what we hold ourselves to: ratios between our output and others', side by side in one run."""
