from pathlib import Path

from setuptools import find_packages, setup

PACKAGE = 'izmp_dynamics'
SHARED = ('config', 'launch', 'robots', 'rviz', 'views')
NODES = (
    'acd',
    'angular_acceleration',
    'mr_ad',
    'ir_md',
    'localizer',
    'recorder',
    'player',
    'view',
    'composed',
)  # fmt: skip; the node izmp is the command izmp, called with --ros-args
LABORATORY = 'izmp_lab'
COMMANDS = ('plan', 'simulate', 'make_world', 'experiments')
LABORATORY_NODES = {
    'motion': 'nodes.motion:Motion',
    'simulation': 'nodes.simulation:Simulation',
    'seesaw': 'seesaw.nodes:Seesaw',
    'balance': 'seesaw.nodes:Balance',
}
ROS_PACKAGES = (
    'ros-rclpy[fastrtps]==7.1.6', 'ros-jazzy-diagnostic-msgs==5.3.6',
    'ros-jazzy-geometry-msgs==5.3.6', 'ros-jazzy-nav-msgs==5.3.6',
    'ros-jazzy-sensor-msgs==5.3.6', 'ros-jazzy-std-msgs==5.3.6',
    'ros-jazzy-std-srvs==5.3.6', 'ros-jazzy-trajectory-msgs==5.3.6',
    'ros-jazzy-visualization-msgs==5.3.6',
)  # fmt: skip
ROS_WHEELS = 'sys_platform == "linux" and python_version >= "3.11" and python_version < "3.13"'
OPENSIM_WHEELS = (
    'python_version >= "3.11" and python_version < "3.14" and '
    '(sys_platform != "linux" or platform_machine == "x86_64")'
)


def shared_files() -> list[tuple[str, list[str]]]:
    """Pair each shared folder's place under share/ with the files that go there."""
    pairs: dict[str, list[str]] = {}
    for folder in SHARED:
        for path in sorted(Path(folder).rglob('*')):
            if path.is_file() and path.suffix != '.pyc' and not path.name.startswith('.'):
                place = f'share/{PACKAGE}/{path.parent.as_posix()}'
                pairs.setdefault(place, []).append(path.as_posix())
    return list(pairs.items())


setup(
    name=PACKAGE,
    version='0.2.0',
    description='Dynamics and imaginary zero-moment point of legged robots',
    maintainer='izmp_dynamics maintainers',
    maintainer_email='maintainers@users.noreply.a-seed-a69344a0.example',
    license='Apache-2.0',
    classifiers=[
        'Intended Audience :: Science/Research',
        'Operating System :: POSIX :: Linux',
        'Programming Language :: Python :: 3',
        'Topic :: Scientific/Engineering',
    ],
    packages=find_packages(include=[f'{PACKAGE}*', f'{LABORATORY}*']),
    package_data={'': ['py.typed', '*.pyi', '*.j2', '*.css', '*.js']},
    data_files=[
        ('share/ament_index/resource_index/packages', [f'resource/{PACKAGE}']),
        (f'share/{PACKAGE}', ['package.xml']),
        *shared_files(),
    ],
    python_requires='>=3.10',
    install_requires=[
        # PyKDL is not on PyPI: Debian and Ubuntu have it as python3-pykdl.
        'numpy>=1.24,<3',
        'scipy>=1.10',
        'numba>=0.57',
        'shapely>=1.8',
        'urdf_parser_py>=0.0.4',
        'lxml>=4.8',
        'PyYAML>=5.4',
        'jinja2>=3.0',
        'rich>=12.3',
    ],
    extras_require={
        'offline': [
            'rosbags>=0.11',
            'ruamel.yaml.clib>=0.2.8',  # or rosbags writes its YAML in Python
            'mcap>=1.1',
            'lz4>=4',
            'backports.zstd; python_version < "3.14"',
        ],
        'sim': ['mujoco>=3.3.4'],
        # Pictures of plans, studies and comparisons.
        'plots': ['matplotlib>=3.5'],
        # The quadratic programmes of walks with estimated angular momentum.
        'walk': ['daqp>=0.8'],
        # Momentum control on the seesaw: Pinocchio, quadratic programmes, the URDF of iCub.
        'balance': ['pin>=3', 'daqp>=0.8', 'example-robot-data>=4'],
        # ROS 2 Jazzy's rclpy from PyPI, where there are wheels; a ROS installation has its own.
        'ros': [f'{name}; {ROS_WHEELS}' for name in ROS_PACKAGES],
        # An interactive report: three.js (in k3d's bundle), uPlot, shapes and meshes of the robot.
        'page': ['k3d>=3.2,<4', 'uplot-python>=1.1', 'trimesh>=4', 'pycollada>=0.7'],
        'view': ['viser>=1.0'],  # the running robot in a web browser
        # Recordings of humans: OpenSim's models and motions, C3D files.
        'human': [f'opensim>=4.6; {OPENSIM_WHEELS}', 'ezc3d>=1.5'],
        'protobuf': ['protobuf>=4.25'],  # messages in MCAP files of Foxglove's tools
        'parquet': ['pyarrow>=14'],  # tables of another form than CSV
        # Many recordings on Dask; the page uses DataTables, in the bundle of ITables, and uPlot.
        'fleet': [
            'distributed>=2024.1',
            'cryptography>=3.4',  # of the connection between its processes
            'pyarrow>=14',
            'itables>=2.4,<3',
            'uplot-python>=1.1',
        ],
        'completion': ['shtab>=1.7'],  # of the command line, by the shell
        'pandas': ['pandas>=2'],  # Evaluation.to_dataframe
        'docs': ['sphinx>=8', 'myst-parser>=4', 'furo>=2024.8'],
        'test': [
            'pytest>=9',
            'shtab>=1.7',
            'pytest-xdist>=3.7',
            'hypothesis>=6',
            'daqp>=0.8',
            'websockets>=12',  # drives Chromium, where that is installed
            'pandas>=2',
            'duckdb>=1',
            'mypy==2.4.*',
            'ruff==0.17.*',
            'setuptools>=64',
            # Pinocchio, the second engine; no wheels elsewhere, its tests are skipped there.
            'pin>=3; sys_platform != "win32" and python_version < "3.15"',
            'example-robot-data>=4; sys_platform != "win32" and python_version < "3.15"',
        ],
    },
    entry_points={
        'console_scripts': [
            f'izmp = {PACKAGE}.cli.main:main',
            *(f'{node} = {PACKAGE}.nodes.main:main' for node in (*NODES, *LABORATORY_NODES)),
        ],
        f'{PACKAGE}.commands': [f'{name} = {LABORATORY}.cli.{name}' for name in COMMANDS],
        f'{PACKAGE}.nodes': [
            f'{name} = {LABORATORY}.{place}' for name, place in LABORATORY_NODES.items()
        ],
    },
    zip_safe=False,
)
