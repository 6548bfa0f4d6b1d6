"""The figures and tables of Gießler and Waltersberger (2023), from simulated walks."""
