"""Fig. 12 and more: recordings of real robots, raw and filtered."""
