"""Sphinx configuration: `make docs`."""

import warnings
from typing import Any

from docutils import nodes
from docutils.utils.math.latex2mathml import tex2mathml

from softmargin import __version__

# A gallery script runs without a screen.
warnings.filterwarnings("ignore", message="FigureCanvasAgg is non-interactive")

project = "softmargin"
author = "The softmargin developers"
copyright = author
version = release = __version__

extensions = [
    "myst_parser",
    "numpydoc",
    "sphinx.ext.autodoc",
    "sphinx.ext.autosummary",
    "sphinx_design",
    "sphinx_gallery.gen_gallery",
]
source_suffix = {".rst": "restructuredtext", ".md": "markdown"}
exclude_patterns = ["_build", "gallery/**/*.ipynb", "gallery/**/*.py", "sg_execution_times.rst"]
templates_path = ["_templates"]
myst_enable_extensions = ["dollarmath", "amsmath", "colon_fence"]
myst_heading_anchors = 3

autosummary_generate = True
# Importable from two rooms, described under the other one.
autosummary_context = {
    "again": [
        "softmargin.comparison.BaggedSelection",
        "softmargin.tuning.HyperPrior",
        "softmargin.evidence.Schedule",
        "softmargin.criteria.Ball",
    ]
}
autodoc_typehints = "none"
numpydoc_show_class_members = False
numpydoc_class_members_toctree = False

sphinx_gallery_conf = {
    "examples_dirs": "../examples",
    "gallery_dirs": "gallery",
    "filename_pattern": r"plot_",
    "download_all_examples": False,
    "show_memory": False,
    # The value of the last line is no result to show.
    "capture_repr": (),
    "plot_gallery": "True",
    "abort_on_example_error": True,
    "min_reported_time": 1e9,
}

html_math_renderer = "mathml"
html_theme = "pydata_sphinx_theme"
html_title = "softmargin"
html_static_path = ["_static"]
html_css_files = ["extra.css"]
# A page without pages below it has no list of them: its tables need the room.
html_sidebars = {"*": []}
html_show_sourcelink = False
html_context = {"default_mode": "auto"}
html_theme_options = {
    "show_prev_next": False,
    "navbar_end": ["theme-switcher"],
    "secondary_sidebar_items": ["page-toc"],
    "header_links_before_dropdown": 4,
    "footer_start": ["copyright"],
    "footer_end": [],
}


def _inline(writer: Any, node: nodes.Node) -> None:
    writer.body.append(tex2mathml(node.astext()))
    raise nodes.SkipNode


def _display(writer: Any, node: nodes.Node) -> None:
    writer.body.append(f'<div class="formula">{tex2mathml(node.astext(), as_block=True)}</div>')
    raise nodes.SkipNode


def setup(app: Any) -> None:
    """Write formulas as MathML, which browsers draw without a script from elsewhere."""
    app.add_html_math_renderer("mathml", (_inline, None), (_display, None))
