"""The floors of the house, their rooms, and who may use whom; `violations` names every arrow not allowed.

A floor uses itself and the floors below it. Floors of one height (spectra and channel; theory, lab, dynamics)
do not see each other: that theory and lab agree is worth something only while neither can see the other.
Within a floor a room uses itself and the rooms that ROOMS grants it; a floor not in ROOMS is one room.
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

# Of each floor, from the ground up: a room, and the rooms of the same floor that it may use.
ROOMS = {
    "channel": {
        "labels": (),
        "attention_indexed": ("labels",),
        "proximal": ("labels",),
        "expectation": ("labels", "proximal"),
        "bayes": ("labels", "expectation"),
    },
    "theory": {
        "fixed_point": (),
        "untied": ("fixed_point",),
        "erm": ("fixed_point", "untied"),
        "bayes": ("erm",),
        "thresholds": ("fixed_point", "erm", "bayes"),
        "generalization": ("fixed_point", "untied", "erm"),
    },
    "lab": {
        "matrix": (),
        "student": ("matrix",),
        "data": ("matrix", "student"),
        "objective": ("matrix", "student", "data"),
        "message_passing": ("matrix", "student", "data", "objective"),
        "training": ("matrix", "student", "data", "objective", "message_passing"),
        "online": ("matrix", "data"),
    },
    "dynamics": {
        "population": (),
        "trajectory": ("population",),
        "slow_fast": ("population", "trajectory"),
        "tied": ("population", "trajectory"),
        "hierarchy": ("population", "trajectory", "tied"),
        "matrix_flow": ("population", "trajectory", "slow_fast"),
    },
    "experiment": {
        "document": (),
        "ranks": (),
        "description": (),
        "comparison": ("document", "description"),
        "generalization": ("document", "description", "comparison"),
        "learning": ("document", "description"),
    },
    "cli": {
        "words": (),
        "session": ("words",),
        "figures": ("words", "session"),
        "presentation": ("words", "session", "figures"),
        "verbs": ("words", "session", "figures", "presentation"),
        "program": ("session",),
    },
}
PYTHON_MAY_IMPORT = {"qklab", "numpy", "matplotlib"}

INCLUDE = re.compile(r'^\s*#\s*include\s*(?:"([^"]+)"|<([^>]+)>)', re.MULTILINE)
FLOOR_LIBRARY = re.compile(r"qklab_floor\(\s*(\w+)([^)]*)\)")


def may_use(user, used):
    """Whether a floor may use a floor."""
    return user == used or HEIGHT[used] < HEIGHT[user]


def room_may_use(floor, user, used):
    """Whether a room may use a room of its floor."""
    return user == used or used in ROOMS[floor][user]


def violations(root):
    """One line for each file, include, link or import under `root` that the order of the house forbids."""
    return [*_misplaced(root), *_includes(root), *_links(root), *_imports(root)]


def arrows(root):
    """(floor, room, room) of each include from one room into another of its floor."""
    return {
        (user[0], user[1], used[1])
        for _, _, user, used in _project_includes(root)
        if user[0] == used[0] and user[1] != used[1]
    }


def _misplaced(root):
    """Sources that lie in no declared room of a floor that has rooms."""
    for path in _sources(root):
        floor, room = _place(path, root)
        if floor in ROOMS and room not in ROOMS[floor]:
            yield f"{path.relative_to(root)}: no room of {floor} is called {room}"


def _includes(root):
    for place, included, user, used in _project_includes(root):
        yield from _judge(user, used, place, included)


def _sources(root):
    return sorted([*(root / "include" / "qklab").rglob("*.?pp"), *(root / "src").rglob("*.?pp")])


def _project_includes(root):
    """Place, name, and (floor, room) of both ends of each include that reaches a file of ours."""
    for path in _sources(root):
        text = path.read_text(encoding="utf-8")
        for match in INCLUDE.finditer(text):
            included = match[1] or match[2]
            line = text.count("\n", 0, match.start(1 if match[1] else 2)) + 1
            used = _place_of_include(included, path, root)
            if used is not None:
                yield f"{path.relative_to(root)}:{line}", included, _place(path, root), used


def _place_of_include(included, path, root):
    """The floor and room that an include reaches, None when it is no file of this project."""
    if included.startswith("qklab/"):
        return _place(root / "include" / included, root)
    for beside in (path.parent / included, root / "src" / included):
        if beside.is_file():
            return _place(beside.resolve(), root.resolve())
    return None


def _place(path, root):
    """Floor and room of src/FLOOR/ROOM/... and include/qklab/FLOOR/ROOM/...; "" where there is no room.

    A file right in src belongs to the program itself.
    """
    folders = [part for part in path.relative_to(root).parts[1:-1] if part != "qklab"]
    return (folders[0] if folders else "main", folders[1] if len(folders) > 1 else "")


def _links(root):
    path = root / "src" / "CMakeLists.txt"
    text = path.read_text(encoding="utf-8") if path.exists() else ""
    for user, libraries in FLOOR_LIBRARY.findall(text):
        for used in re.findall(r"\bqklab_(\w+)", libraries):
            yield from _judge((user, ""), (used, ""), str(path.relative_to(root)), f"qklab_{used}")


def _judge(user, used, place, what):
    unknown = [floor for floor, _ in (user, used) if floor not in HEIGHT]
    if unknown:
        yield f"{place}: {what}: no floor is called {unknown[0]}"
    elif not may_use(user[0], used[0]):
        yield f"{place}: {what}: {user[0]} must not use {used[0]}"
    elif _both_in_rooms(user, used) and not room_may_use(user[0], user[1], used[1]):
        yield f"{place}: {what}: {'/'.join(user)} must not use {'/'.join(used)}"


def _both_in_rooms(user, used):
    rooms = ROOMS.get(user[0], {})
    return user[0] == used[0] and user[1] in rooms and used[1] in rooms


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
