"""The stages of the method for a running system: one sample in, what it completes out."""
