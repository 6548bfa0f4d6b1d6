"""Walks with estimated angular momentum (Mayr et al.): runs, one file per figure, page."""
