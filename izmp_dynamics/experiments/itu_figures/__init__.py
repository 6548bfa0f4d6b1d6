"""The figures of the experiment on the ITU Biped: one file per figure, with what it needs."""
