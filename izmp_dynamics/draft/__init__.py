"""A robot file to begin with, from what a recording and a URDF say."""
