"""The method assembled once: from samples as they arrive to points on the ground.

Every stage takes its samples in pieces of any length and hands out what no further sample can
change. A recording in large chunks (`replay`) and single messages (`nodes`) therefore go through
the same code and give the same numbers.
"""
