"""Calibration from walking: errors of sensors and model by Newton's equations."""
