"""Benchmarks: ratios measured side by side in one run. They are no tests."""
