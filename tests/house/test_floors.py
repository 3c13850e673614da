import floors
import pytest
from tree import ROOT


def test_no_arrow_runs_up():
    assert floors.violations(ROOT) == []


def test_every_arrow_between_rooms_that_is_granted_is_used():
    granted = {
        (f, user, used) for f, rooms in floors.ROOMS.items() for user, all_ in rooms.items() for used in all_
    }
    assert granted - floors.arrows(ROOT) == set()


@pytest.mark.parametrize("floor", floors.ROOMS)
def test_rooms_are_declared_from_the_ground_up(floor):
    declared = list(floors.ROOMS[floor])
    for height, room in enumerate(declared):
        assert set(floors.ROOMS[floor][room]) <= set(declared[:height])


@pytest.mark.parametrize(
    ("floor", "room"), [(floor, room) for floor, rooms in floors.ROOMS.items() for room in rooms]
)
def test_every_room_is_on_the_picture(floor, room):
    assert (ROOT / "src" / floor / room).is_dir()
    assert f"| `{room}` |" in (ROOT / "docs" / "architecture.md").read_text()


@pytest.fixture
def tree(tmp_path):
    """A small house in order, to put a mistake into."""
    files = {
        "include/qklab/core/error.hpp": "#pragma once\n#include <string>\n",
        "include/qklab/theory/erm/solve.hpp": '#pragma once\n#include "qklab/core/error.hpp"\n',
        "include/qklab/lab/training/train.hpp": '#pragma once\n#include "qklab/core/error.hpp"\n',
        "src/theory/erm/solve.cpp": '#include "qklab/theory/erm/solve.hpp"\n#include "map.hpp"\n',
        "src/theory/erm/map.hpp": '#include "hwy/base.h"\n#include "qklab/spectra/law.hpp"\n',
        "src/theory/erm/overlaps.hpp": "#pragma once\n",
        "src/theory/bayes/channel.hpp": "#pragma once\n",
        "src/theory/bayes/channel.cpp": '#include "theory/erm/overlaps.hpp"\n',
        "src/main.cpp": '#include "qklab/cli/command.hpp"\n',
        "src/CMakeLists.txt": "qklab_floor(core fmt::fmt)\nqklab_floor(theory qklab_core)\n",
        "python/qklab/figures.py": "import json\n\nimport numpy\n\nfrom . import other\n",
    }
    for name, text in files.items():
        write(tmp_path, name, text)
    return tmp_path


def write(root, name, text):
    path = root / name
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_text(text)


def test_a_house_in_order_passes(tree):
    assert floors.violations(tree) == []


@pytest.mark.parametrize(
    ("name", "text", "complaint"),
    [
        (
            "src/core/error.cpp",
            '// first line\n#include "qklab/theory/erm/solve.hpp"\n',
            "src/core/error.cpp:2: qklab/theory/erm/solve.hpp: core must not use theory",
        ),
        (
            "src/theory/erm/solve.cpp",
            '#include "qklab/lab/training/train.hpp"\n',
            "src/theory/erm/solve.cpp:1: qklab/lab/training/train.hpp: theory must not use lab",
        ),
        (
            "include/qklab/lab/training/train.hpp",
            "#  include  <qklab/theory/erm/solve.hpp>\n",
            "include/qklab/lab/training/train.hpp:1: qklab/theory/erm/solve.hpp: lab must not use theory",
        ),
        (
            "src/dynamics/tied/flow.cpp",
            '#include "qklab/lab/training/train.hpp"\n',
            "src/dynamics/tied/flow.cpp:1: qklab/lab/training/train.hpp: dynamics must not use lab",
        ),
        (
            "include/qklab/dynamics/tied/flow.hpp",
            '#include "qklab/theory/erm/solve.hpp"\n',
            "include/qklab/dynamics/tied/flow.hpp:1: "
            "qklab/theory/erm/solve.hpp: dynamics must not use theory",
        ),
        (
            "src/lab/training/train.cpp",
            '#include "../../theory/erm/map.hpp"\n',
            "src/lab/training/train.cpp:1: ../../theory/erm/map.hpp: lab must not use theory",
        ),
        (
            "src/lab/training/train.cpp",
            '#include "../../../include/qklab/theory/erm/solve.hpp"\n',
            "src/lab/training/train.cpp:1: "
            "../../../include/qklab/theory/erm/solve.hpp: lab must not use theory",
        ),
        (
            "src/spectra/law.cpp",
            '#include "qklab/channel/labels/channel.hpp"\n',
            "src/spectra/law.cpp:1: qklab/channel/labels/channel.hpp: spectra must not use channel",
        ),
        (
            "src/tools/text.cpp",
            '#include "qklab/core/error.hpp"\n',
            "src/tools/text.cpp:1: qklab/core/error.hpp: no floor is called tools",
        ),
        (
            "src/theory/erm/solve.cpp",
            '#include "theory/bayes/channel.hpp"\n',
            "src/theory/erm/solve.cpp:1: theory/bayes/channel.hpp: theory/erm must not use theory/bayes",
        ),
        (
            "include/qklab/lab/data/dataset.hpp",
            '#include "qklab/lab/training/train.hpp"\n',
            "include/qklab/lab/data/dataset.hpp:1: "
            "qklab/lab/training/train.hpp: lab/data must not use lab/training",
        ),
        ("src/lab/attic/train.cpp", "", "src/lab/attic/train.cpp: no room of lab is called attic"),
        ("src/lab/train.cpp", "", "src/lab/train.cpp: no room of lab is called "),
        (
            "src/CMakeLists.txt",
            "qklab_floor(theory\n  qklab_core qklab_lab)\n",
            "src/CMakeLists.txt: qklab_lab: theory must not use lab",
        ),
        (
            "python/qklab/figures.py",
            "import json\nfrom scipy.optimize import root\n",
            "python/qklab/figures.py:2: scipy.optimize: python must not import scipy",
        ),
    ],
)
def test_a_mistake_is_named(tree, name, text, complaint):
    write(tree, name, text)
    assert floors.violations(tree) == [complaint]


@pytest.mark.parametrize("user", floors.HEIGHT)
@pytest.mark.parametrize("used", floors.HEIGHT)
def test_no_two_floors_see_each_other(user, used):
    assert user == used or not (floors.may_use(user, used) and floors.may_use(used, user))
