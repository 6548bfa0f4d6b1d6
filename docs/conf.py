"""Sphinx settings: the pages of this folder and the public names of the package.

`make docs` builds the pages, with warnings as errors; rosdoc2 executes this file in a folder of
its own (see rosdoc2.yaml), so nothing here may depend on where it is.
"""

import importlib.util

import izmp_dynamics

project = 'izmp_dynamics'
copyright = 'izmp_dynamics maintainers, Apache-2.0'  # noqa: A001
release = version = izmp_dynamics.__version__

extensions = ['sphinx.ext.autodoc', 'sphinx.ext.napoleon', 'myst_parser']
source_suffix = {'.rst': 'restructuredtext', '.md': 'markdown'}
exclude_patterns = ['figures']
myst_heading_anchors = 3
html_theme = 'furo' if importlib.util.find_spec('furo') else 'alabaster'  # rosdoc2 lacks it

autodoc_member_order = 'bysource'
autodoc_default_options = {'members': True}
autodoc_typehints = 'none'  # shape, unit and frame of an array are in the text
autodoc_preserve_defaults = True
autodoc_class_signature = 'separated'
napoleon_use_rtype = False
napoleon_attr_annotations = False
napoleon_use_ivar = True
# Without these two the API can still be read; rosdoc2 knows the rest by package.xml.
autodoc_mock_imports = [
    name for name in ('PyKDL', 'urdf_parser_py') if importlib.util.find_spec(name) is None
]
