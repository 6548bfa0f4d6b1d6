"""The paper's figures and tables, made again from simulated walks; metrics for one's own."""
