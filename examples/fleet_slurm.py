"""Start the workers of a fleet as Slurm jobs, from an interactive session.

Needed: `pip install dask-jobqueue`.

Then: izmp fleet --scheduler ADDRESS, which this prints.
"""

from dask_jobqueue import SLURMCluster

cluster = SLURMCluster(
    queue='batch',
    cores=8,
    processes=8,  # one bag at a time in each
    memory='24GB',
    walltime='04:00:00',
    worker_extra_args=['--preload', 'izmp_dynamics.engine.worker'],
)
cluster.scale(jobs=20)
print(cluster.scheduler_address)
