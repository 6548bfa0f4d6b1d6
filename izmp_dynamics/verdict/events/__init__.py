"""Events: what happened when, one file for each kind."""
