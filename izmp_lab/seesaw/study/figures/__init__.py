"""Figures of `izmp experiments seesaw`."""
