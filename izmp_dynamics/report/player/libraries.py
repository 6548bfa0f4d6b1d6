"""The JavaScript of others that the page runs, as installed Python packages bring it.

three.js draws the scene; it comes inside K3D's standalone bundle. uPlot draws the series. Only
their files are read: neither package is imported.
"""

from dataclasses import dataclass
from importlib.util import find_spec
from pathlib import Path

from izmp_dynamics.base.errors import MissingDependencyError
from izmp_dynamics.base.kept import kept
from izmp_dynamics.report.player.packing import LEVEL, compressed

INSTALL = 'pip install k3d uplot-python trimesh pycollada'


@dataclass(frozen=True)
class Library:
    """A file of a Python package.

    Attributes:
        package: name that pip installs.
        module: the module that the file belongs to.
        path: of the file within it.
        needed_for: what does not work without it, as the beginning of a sentence.
        install: the command that installs it and what else is needed for that.
    """

    package: str
    module: str
    path: str
    needed_for: str = 'An interactive report'
    install: str = INSTALL

    def read(self) -> str:
        """Return the file's text.

        Raises:
            MissingDependencyError: the package is not installed, or does not have the file.
        """
        spec = find_spec(self.module)
        for folder in (spec and spec.submodule_search_locations) or ():
            file = Path(folder) / self.path
            if file.is_file():
                return file.read_text(encoding='utf-8')
        raise MissingDependencyError(self.package, self.needed_for, self.install)

    def packed(self) -> str:
        """Return the text as `packing.compressed` does, which takes long for a large library.

        Raises:
            MissingDependencyError: as `read`.
        """
        name = f'{self.package}.{Path(self.path).name}.gz{LEVEL}.base64'
        return kept(name, self.read().encode(), lambda text: compressed(text).encode()).decode()


THREE = Library('k3d', 'k3d', 'static/standalone.js')
UPLOT = Library('uplot-python', 'uplot', 'static/uPlot.iife.js')
UPLOT_STYLE = Library('uplot-python', 'uplot', 'static/uPlot.min.css')
