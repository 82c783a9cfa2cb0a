"""API reference of the Python package: sphinx-build -W -b html docs/api target/docs/python."""

import re

import madbayes

project = "madbayes"
release = madbayes.__version__
extensions = ["sphinx.ext.autodoc", "sphinx.ext.viewcode", "numpydoc"]

html_theme = "alabaster"
html_theme_options = {"description": "DP-means and its Bayesian family", "page_width": "1100px"}
html_sidebars = {"**": ["about.html", "navigation.html", "searchbox.html"]}
html_copy_source = False
html_show_copyright = False

autodoc_member_order = "bysource"
autodoc_typehints = "none"  # types are in the docstrings
numpydoc_show_class_members = False


def skip_what_is_not_ours(app, what, name, member, skip, options):
    """scikit-learn documents its own methods, and its docstrings link to pages that are not here."""
    module = getattr(member, "__module__", None) or ""
    return True if not module.startswith("madbayes") else None


def escape_plain_text(app, what, name, obj, options, lines):
    """Docstrings are written for help(), where |x|, labels_ and an author's "T." mean what they say: no links, no list."""
    for i, line in enumerate(lines):
        line = re.sub(r"^(\s*(?:\.\. \[\S+\] )?)([A-Z]\. )", r"\1\\\2", line)
        lines[i] = line
        if line.lstrip().startswith((">>>", "...", "..")):
            continue
        parts = re.split(r"(``.*?``)", line)
        parts[::2] = [re.sub(r"(?<=\w)_(?!\w)|\|", lambda found: "\\" + found.group(), part) for part in parts[::2]]
        lines[i] = "".join(parts)


def setup(app):
    app.connect("autodoc-skip-member", skip_what_is_not_ours)
    # After numpydoc, which makes fields of the sections and escapes their names itself.
    app.connect("autodoc-process-docstring", escape_plain_text, priority=900)
