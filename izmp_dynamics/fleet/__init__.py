"""Many recordings at once: a row per bag, one page about all of them, on any Dask cluster."""
