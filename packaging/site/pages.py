"""What MkDocs needs to know of docs/: the map of pages, and the marks of code blocks."""

import posixpath
import re
from pathlib import Path

from mkdocs.structure.files import File

ROOT = Path(__file__).resolve().parents[2]
LINK = re.compile(r"\]\(([^)#\s:]+)(#[^)\s]*)?\)")
CONSOLE = re.compile(r"^```console.*?^```", flags=re.M | re.S)
VARIES = re.compile(r"~(?=[-+]?\d)")
# Where files outside of docs/ go, such as examples/README.md.
OUTSIDE = "project"


def on_config(config):
    """Makes the menu of the site from the headings and tables in docs/README.md."""
    menu = [{"Windfall": ["README.md"]}]
    for line in (ROOT / "docs/README.md").read_text().splitlines():
        if line.startswith("## "):
            pages = []
            menu.append({line[3:]: pages})
        elif line.startswith("### "):
            pages = []
            (parts,) = menu[-1].values()
            parts.append({line[4:]: pages})
        elif line.startswith("| ["):
            links = (match[1] for match in LINK.finditer(line))
            pages += [outside(path[3:]) if path.startswith("../") else path for path in links]
    config.nav = menu
    return config


def outside(path):
    return posixpath.join(OUTSIDE, path)


def resolved(page, link):
    """Returns the path in the repository that a link leads to."""
    folder = posixpath.dirname(page)
    if page.startswith(OUTSIDE + "/"):
        folder = folder[len(OUTSIDE) + 1 :]
    else:
        folder = posixpath.join("docs", folder)
    return posixpath.normpath(posixpath.join(folder, link))


def on_files(files, config):
    """Adds the files outside of docs/ to which pages lead, and those to which these lead."""
    pages = [file.src_uri for file in files if file.is_documentation_page()]
    to_read = [(uri, ROOT / "docs" / uri) for uri in pages]
    while to_read:
        uri, path = to_read.pop()
        for match in LINK.finditer(path.read_text()):
            target = resolved(uri, match[1])
            inner = ROOT / target
            if target.startswith(("docs/", "..")) or not inner.is_file():
                continue
            added = outside(target)
            if files.get_file_from_path(added) is None:
                files.append(File.generated(config, added, abs_src_path=str(inner)))
                if inner.suffix == ".md":
                    to_read.append((added, inner))
    return files


def on_page_markdown(markdown, page, config, files):
    uri = page.file.src_uri

    def link(match):
        target = resolved(uri, match[1])
        if target.startswith("docs/"):
            there = target[len("docs/") :]
        elif files.get_file_from_path(outside(target)) is not None:
            there = outside(target)
        else:
            return "]()" if (ROOT / target).is_dir() else match[0]
        there = posixpath.relpath(there, posixpath.dirname(uri) or ".")
        return f"]({there}{match[2] or ''})"

    markdown = LINK.sub(link, markdown)
    # In outputs, `~` before a number says for the test that it may differ. Readers know the other sign.
    markdown = CONSOLE.sub(lambda block: VARIES.sub("≈", block[0]), markdown)
    # A block that is written to a file shows the name of the file. Other words after the language
    # are for the test that runs the blocks.
    markdown = re.sub(r"^```(\w+) (\S+\.\w+)$", r'```\1 title="\2"', markdown, flags=re.M)
    return re.sub(r"^```console \w+$", "```console", markdown, flags=re.M)
