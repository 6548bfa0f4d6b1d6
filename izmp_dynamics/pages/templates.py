"""Pages from Jinja templates, whose compiled form is kept for the next start.

Compiling a page takes a tenth of a short replay. What is kept depends on the template, on the
sources of the module whose filters it uses (constants are filtered when a template is compiled)
and on the versions of Jinja and Python.
"""

import marshal
from collections.abc import Callable, Mapping
from importlib import resources
from importlib.util import MAGIC_NUMBER
from typing import Any

from izmp_dynamics.base.errors import MissingDependencyError
from izmp_dynamics.base.kept import kept
from izmp_dynamics.base.kernel_cache import imports_file
from izmp_dynamics.base.kernel_sources import source_digest

try:
    import jinja2
    from markupsafe import Markup as Markup
except ImportError as error:
    raise MissingDependencyError('jinja2', 'Writing a page', 'pip install jinja2') from error


def template(
    module: str,
    name: str,
    filters: Mapping[str, Callable[..., Any]] | None = None,
    finalize: Callable[[Any], Any] | None = None,
) -> jinja2.Template:
    """Load a template, in which every text is escaped and every name must be given.

    Args:
        module: the module that uses it, whose package the file belongs to.
        name: of the file.
        filters: functions of `module` or of what it imports, by the name that the template uses.
        finalize: the same, for every value that is put out.
    """
    environment = jinja2.Environment(
        autoescape=True,
        trim_blocks=True,
        lstrip_blocks=True,
        undefined=jinja2.StrictUndefined,
        finalize=finalize,
    )
    environment.filters |= dict(filters or {})
    text = text_file(module.rpartition('.')[0], name)

    def compiled(_: bytes) -> bytes:
        return marshal.dumps(environment.compile(text, name, name))

    try:
        sources = source_digest(module, imports_file())
    except (OSError, ImportError, AttributeError, KeyError, SyntaxError):  # installed without them
        code = environment.compile(text, name, name)
    else:
        source = f'{jinja2.__version__} {MAGIC_NUMBER.hex()} {sources}\n{text}'
        code = marshal.loads(kept(f'{module}.{name}.code', source.encode(), compiled))
    return jinja2.Template.from_code(environment, code, environment.make_globals(None))


def text_file(package: str, name: str) -> str:
    """Text of a file that a package brings."""
    return resources.files(package).joinpath(name).read_text(encoding='utf-8')
