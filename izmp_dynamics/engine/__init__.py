"""Many tasks in processes of this computer or on a cluster (Dask), for fleets and experiments."""
