"""Makes the message type tf2_msgs/TFMessage where rclpy came from PyPI, which lacks it.

The wheels of rclpy hold the generators that a ROS build runs, and all headers and libraries. They
are fed the definition of the message, which is one line, and one C++ compiler run links what they
write into an extension module. With it /tf is on the wire as with any other ROS installation.
Usage::

    python -m izmp_dynamics.nodes.make_tf2_msgs
"""

import contextlib
import importlib.util
import io
import os
import shutil
import subprocess
import sys
import sysconfig
import tempfile
from collections.abc import Iterable
from pathlib import Path

from izmp_dynamics.base.errors import IzmpError, MissingDependencyError

PACKAGE = 'tf2_msgs'
INTERFACE = Path('msg/TFMessage.msg')
DEFINITION = 'geometry_msgs/TransformStamped[] transforms\n'

_DEPENDENCIES = ('geometry_msgs', 'std_msgs', 'builtin_interfaces')
_IMPLEMENTATIONS = ('rosidl_typesupport_fastrtps_c', 'rosidl_typesupport_introspection_c')
_KINDS = ('typesupport_c', 'typesupport_fastrtps_c', 'typesupport_introspection_c')
_LIBRARIES = (
    *(
        f'{package}__rosidl_{kind}'
        for package in _DEPENDENCIES
        for kind in ('generator_c', 'generator_py', *_KINDS)
    ),
    'rosidl_typesupport_fastrtps_c',
    'rosidl_typesupport_fastrtps_cpp',
    'rosidl_typesupport_introspection_c',
    'rosidl_typesupport_c',
    'rosidl_runtime_c',
    'rcutils',
    'rmw',
    'fastcdr',
)


def make_tf2_msgs(site: Path | None = None) -> str:
    """Make the package if it is not there.

    Args:
        site: folder to install to; default: that of the running Python.

    Returns:
        What was done, in a sentence.

    Raises:
        MissingDependencyError: rclpy's wheels, a C++ compiler or Python's headers are missing.
    """
    if importlib.util.find_spec(PACKAGE):
        return f'{PACKAGE} is there already.'
    site = site or Path(sysconfig.get_path('platlib'))
    _require()
    os.environ.setdefault('AMENT_PREFIX_PATH', sys.prefix)  # where the generators find themselves
    with tempfile.TemporaryDirectory(prefix='izmp_tf2_msgs_') as folder:
        package, extension = _build(Path(folder))
        for implementation in _IMPLEMENTATIONS:
            shutil.copy(extension, Path(sys.prefix) / 'lib' / f'lib{PACKAGE}__{implementation}.so')
        shutil.copytree(package, site / PACKAGE)
    return f'{PACKAGE} was made in {site}.'


def _require() -> None:
    remedy = "pip install '.[ros]', in the folder of izmp_dynamics"
    for library in ('rclpy', 'rosidl_adapter', 'rosidl_generator_py'):
        if importlib.util.find_spec(library) is None:
            raise MissingDependencyError(library, f'Making {PACKAGE}', remedy)
    if shutil.which('g++') is None or not (_python_headers() / 'Python.h').is_file():
        raise MissingDependencyError(
            'g++ and Python.h', f'Making {PACKAGE}', 'apt-get install g++ python3-dev'
        )


def _python_headers() -> Path:
    return Path(sysconfig.get_path('include'))


def _build(folder: Path) -> tuple[Path, Path]:
    """Generate and compile in a scratch folder.

    Returns:
        The folder of the Python package and its extension module. That one holds everything; ROS
        also looks for it under the names of the two implementations of type support.
    """
    sources = folder / 'sources'
    (sources / INTERFACE.parent).mkdir(parents=True)
    (sources / INTERFACE).write_text(DEFINITION)
    quiet = io.StringIO()  # the generators list every file, and what they find twice
    with contextlib.redirect_stdout(quiet), contextlib.redirect_stderr(quiet):
        generated = _generate(sources, folder)
    package = folder / 'python' / PACKAGE
    extension = package / f'{PACKAGE}_s__rosidl_typesupport_c.so'
    _compile([path for path in generated if path.suffix in ('.c', '.cpp')], folder, extension)
    return package, extension


def _generate(sources: Path, folder: Path) -> list[Path]:
    """Run the generators, each into a folder of its own; return the files they wrote."""
    from rosidl_adapter.msg import convert_msg_to_idl
    from rosidl_generator_c.cli import GenerateC
    from rosidl_generator_py.cli import GeneratePython
    from rosidl_typesupport_c.cli import GenerateCTypesupport
    from rosidl_typesupport_fastrtps_c.cli import GenerateFastRTPSCTypesupport
    from rosidl_typesupport_introspection_c.cli import GenerateIntrospectionCTypesupport

    idl = convert_msg_to_idl(sources, PACKAGE, INTERFACE, sources / INTERFACE.parent)
    interface = f'{sources}:{idl.relative_to(sources)}'
    share = Path(sys.prefix) / 'share'
    include = [str(share / name) for name in _DEPENDENCIES]
    files: list[str] = []
    for name, generator in {
        'c': GenerateC(''),
        'fastrtps': GenerateFastRTPSCTypesupport(''),
        'introspection': GenerateIntrospectionCTypesupport(''),
        'dispatch': GenerateCTypesupport('', typesupport_implementations=[*_IMPLEMENTATIONS]),
        'python': GeneratePython('', typesupport_implementations=['rosidl_typesupport_c']),
    }.items():
        where = folder / name / PACKAGE
        where.mkdir(parents=True)
        files += generator.generate(PACKAGE, [interface], include, where)
    (folder / 'python' / PACKAGE / '__init__.py').touch()
    return [Path(file) for file in files]


def _compile(sources: Iterable[Path], folder: Path, extension: Path) -> None:
    import numpy as np

    prefix = Path(sys.prefix)
    headers = [*(prefix / 'include').iterdir(), prefix / 'include', _python_headers()]
    headers += [path for path in folder.iterdir() if path.is_dir()]
    headers.append(Path(np.get_include()))
    command = ['g++', '-shared', '-fPIC', '-O1', '-w', '-fpermissive']
    command += [f'-I{path}' for path in headers]
    for source in sources:
        command += ['-x', 'c' if source.suffix == '.c' else 'c++', str(source)]
    command += ['-x', 'none', '-o', str(extension), f'-L{prefix / "lib"}']
    command += [f'-l{library}' for library in _LIBRARIES]
    done = subprocess.run(command, capture_output=True, text=True, check=False)
    if done.returncode:
        raise RuntimeError(f'The compiler failed to make {PACKAGE}:\n{done.stderr[-2000:]}')


if __name__ == '__main__':
    try:
        print(make_tf2_msgs())
    except IzmpError as error:
        sys.exit(f'{error} Until then TF is not broadcast.')
