"""Keep scheduler and workers of a fleet on Kubernetes and forward the scheduler's port.

Needed: `pip install dask-kubernetes`, its operator in the cluster, and an image with this package,
its extras and the robot files (`docker/` has one to begin with).
"""

from dask_kubernetes.operator import KubeCluster, make_cluster_spec

spec = make_cluster_spec(
    name='izmp',
    image='registry/izmp:0.1',
    n_workers=50,
    resources={'requests': {'cpu': '1', 'memory': '2Gi'}, 'limits': {'memory': '2Gi'}},
    env={'DASK_DISTRIBUTED__SCHEDULER__WORKER_SATURATION': '1.0'},
    worker_command=[
        'dask',
        'worker',
        '--nthreads',
        '1',
        '--preload',
        'izmp_dynamics.engine.worker',
    ],
)
(scheduler,) = spec['spec']['scheduler']['spec']['containers']
# dask-kubernetes 2026.3 would call dask-scheduler, which distributed has not had since 2026.6
scheduler['args'] = ['dask', 'scheduler', '--host', '0.0.0.0']
with KubeCluster(custom_cluster_spec=spec) as cluster:
    input(f'izmp fleet --scheduler {cluster.scheduler_address}; Enter ends the cluster')
