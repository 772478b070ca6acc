"""Records of runs: written as they happen, read again at any time."""
