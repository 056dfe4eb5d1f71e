"""Sums, extremes and what is ordered: reductions, scans, sorting, sets, bins."""
