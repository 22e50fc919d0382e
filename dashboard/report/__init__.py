"""The report for the people who decide: one HTML file that needs nothing else, and the same on paper."""
