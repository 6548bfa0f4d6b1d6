"""The figures on angular-momentum estimation: one file per figure, with what it needs."""
