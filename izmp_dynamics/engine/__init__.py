"""Many tasks in processes of this computer (Dask), for fleets and experiments."""
