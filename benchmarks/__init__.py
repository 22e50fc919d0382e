"""Speed and memory, measured as ratios within one run. Never part of the tests."""
