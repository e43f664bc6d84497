"""Settings of the generator (`make site`): pages are read where they lie, and nothing is fetched while building or reading."""

import re
from typing import Any

from docutils import nodes
from docutils.utils.math.latex2mathml import tex2mathml

from conformance.version import __version__
from refimpl.schemes import SCHEMES
from tools.site.equations import is_equation, tex
from tools.site.navigation import ROOT, added

project = "posenc"
version = release = __version__
html_title = f"posenc {__version__}"
html_theme = "furo"
html_copy_source = False
html_show_copyright = False
html_show_search_summary = False  # a page opened from a folder may not fetch the others
html_static_path = ["site.css"]
html_css_files = ["site.css"]
smartquotes = False  # prose has code in it
html_math_renderer = "mathml"

extensions = ["myst_parser", "sphinx.ext.autodoc", "sphinx.ext.autosummary", "sphinx.ext.viewcode"]
root_doc = "README"
include_patterns = ["*.md", "docs/**.md", "vectors/*.md", "tools/site/*.md", "build/api/**"]
exclude_patterns = [".*", "**/__pycache__"]
templates_path = [str(ROOT / "tools" / "site" / "templates")]
myst_heading_anchors = 6

autosummary_context = {
    "made": {
        f"refimpl.schemes.{name}": [made.__name__ for made in scheme.operations if not made.__module__.endswith(f".{name}")]
        for name, scheme in SCHEMES.items()
    }
}
autodoc_default_options = {"members": True, "member-order": "bysource"}
autodoc_typehints_format = "short"
add_module_names = False
python_maximum_signature_line_length = 100
python_use_unqualified_type_names = True

OPERATION = re.compile(r"^(## `[\w.]+`\n)(.*?)(?=^\||^#|\Z)", re.MULTILINE | re.DOTALL)


def typeset(text: str, span: re.Pattern[str], role: str) -> str:
    """Return text whose spans of code are equations where they compute something."""
    return span.sub(lambda found: f"{role}`{tex(found[1])}`" if is_equation(found[1]) else found[0], text)


def read(app: Any, page: str, source: list[str]) -> None:  # noqa: ARG001  the generator's signature
    """Typeset the operations of a scheme's page, and add to a page what no file says."""
    text = source[0]
    if page.startswith("docs/schemes/"):
        text = OPERATION.sub(lambda found: found[1] + typeset(found[2], re.compile("`([^`]+)`"), "{math}"), text)
    source[0] = text + added(page)


def documented(app: Any, what: str, name: str, thing: object, options: object, lines: list[str]) -> None:  # noqa: ARG001  the same
    """Typeset the docstrings of the schemes; a field of a named tuple has none of its own."""
    if lines and lines[0].startswith("Alias for field number"):
        lines.clear()
    if name.startswith("refimpl.schemes."):
        lines[:] = typeset("\n".join(lines), re.compile("``(.+?)``"), ":math:").split("\n")


def called(app: Any, what: str, name: str, thing: object, options: object, signature: str | None, result: str | None) -> Any:  # noqa: ARG001
    """Write a made default as Python that can be read."""
    return signature and signature.replace("<factory>", "..."), result


def mathml(translator: Any, node: nodes.Element) -> None:
    """Write an equation in MathML, which browsers typeset themselves."""
    translator.body.append(tex2mathml(node.astext(), as_block=isinstance(node, nodes.math_block)))
    raise nodes.SkipNode


def setup(app: Any) -> None:
    """Register what is ours."""
    app.add_html_math_renderer("mathml", inline_renderers=(mathml, None), block_renderers=(mathml, None))
    app.connect("source-read", read)
    app.connect("autodoc-process-signature", called)
    app.connect("autodoc-process-docstring", documented)
