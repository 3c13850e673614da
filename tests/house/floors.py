"""The floors of the house and who may use whom; `violations` names every arrow of a source tree that runs up.

A floor uses itself and the floors below it. Floors of one height (spectra and channel; theory, lab, dynamics)
do not see each other: that theory and lab agree is worth something only while neither can see the other.
"""

import ast
import re
import sys

HEIGHT = {
    "core": 0,
    "spectra": 1,
    "channel": 1,
    "theory": 2,
    "lab": 2,
    "dynamics": 2,
    "weights": 3,
    "experiment": 4,
    "cli": 5,
    "main": 6,
}
PYTHON_MAY_IMPORT = {"qklab", "numpy", "matplotlib"}

INCLUDE = re.compile(r'^\s*#\s*include\s*(?:"([^"]+)"|<([^>]+)>)', re.MULTILINE)
FLOOR_LIBRARY = re.compile(r"qklab_floor\(\s*(\w+)([^)]*)\)")


def may_use(user, used):
    return user == used or HEIGHT[used] < HEIGHT[user]


def violations(root):
    """One line for each include, link or import under `root` that the order of the floors forbids."""
    return [*_includes(root), *_links(root), *_imports(root)]


def _includes(root):
    sources = [*(root / "include" / "qklab").rglob("*.?pp"), *(root / "src").rglob("*.?pp")]
    for path in sorted(sources):
        text = path.read_text(encoding="utf-8")
        for match in INCLUDE.finditer(text):
            included = match[1] or match[2]
            line = text.count("\n", 0, match.start(1 if match[1] else 2)) + 1
            used = _floor_of_include(included, path, root)
            if used is not None:
                yield from _judge(_floor(path, root), used, f"{path.relative_to(root)}:{line}", included)


def _floor_of_include(included, path, root):
    """The floor that an include reaches, None when it is no file of this project."""
    if included.startswith("qklab/"):
        return included.split("/")[1]
    beside = (path.parent / included).resolve()
    return _floor(beside, root.resolve()) if beside.is_file() else None


def _floor(path, root):
    """src/FLOOR/..., include/qklab/FLOOR/...; a file right in src belongs to the program itself."""
    parts = [part for part in path.relative_to(root).parts if part != "qklab"]
    return parts[1] if len(parts) > 2 else "main"


def _links(root):
    path = root / "src" / "CMakeLists.txt"
    text = path.read_text(encoding="utf-8") if path.exists() else ""
    for user, libraries in FLOOR_LIBRARY.findall(text):
        for used in re.findall(r"\bqklab_(\w+)", libraries):
            yield from _judge(user, used, str(path.relative_to(root)), f"qklab_{used}")


def _judge(user, used, place, what):
    unknown = [name for name in (user, used) if name not in HEIGHT]
    if unknown:
        yield f"{place}: {what}: no floor is called {unknown[0]}"
    elif not may_use(user, used):
        yield f"{place}: {what}: {user} must not use {used}"


def _imports(root):
    for path in sorted((root / "python").rglob("*.py")):
        for node in ast.walk(ast.parse(path.read_text(encoding="utf-8"))):
            for module in _modules(node):
                name = module.split(".")[0]
                if name not in PYTHON_MAY_IMPORT and name not in sys.stdlib_module_names:
                    yield f"{path.relative_to(root)}:{node.lineno}: {module}: python must not import {name}"


def _modules(node):
    if isinstance(node, ast.Import):
        return [alias.name for alias in node.names]
    if isinstance(node, ast.ImportFrom) and node.level == 0:
        return [node.module]
    return []
