"""Recordings of humans: OpenSim models and motions, C3D files, force plates → URDF and bag."""
