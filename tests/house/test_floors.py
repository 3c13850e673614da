import floors
import pytest
from tree import ROOT


def test_no_arrow_runs_up():
    assert floors.violations(ROOT) == []


@pytest.fixture
def tree(tmp_path):
    """A small house in order, to put a mistake into."""
    files = {
        "include/qklab/core/error.hpp": "#pragma once\n#include <string>\n",
        "include/qklab/theory/solve.hpp": '#pragma once\n#include "qklab/core/error.hpp"\n',
        "include/qklab/lab/train.hpp": '#pragma once\n#include "qklab/core/error.hpp"\n',
        "src/theory/solve.cpp": '#include "qklab/theory/solve.hpp"\n#include "map.hpp"\n',
        "src/theory/map.hpp": '#include "hwy/base.h"\n#include "qklab/spectra/law.hpp"\n',
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
            '// first line\n#include "qklab/theory/solve.hpp"\n',
            "src/core/error.cpp:2: qklab/theory/solve.hpp: core must not use theory",
        ),
        (
            "src/theory/solve.cpp",
            '#include "qklab/lab/train.hpp"\n',
            "src/theory/solve.cpp:1: qklab/lab/train.hpp: theory must not use lab",
        ),
        (
            "include/qklab/lab/train.hpp",
            "#  include  <qklab/theory/solve.hpp>\n",
            "include/qklab/lab/train.hpp:1: qklab/theory/solve.hpp: lab must not use theory",
        ),
        (
            "src/dynamics/flow.cpp",
            '#include "qklab/lab/train.hpp"\n',
            "src/dynamics/flow.cpp:1: qklab/lab/train.hpp: dynamics must not use lab",
        ),
        (
            "include/qklab/dynamics/flow.hpp",
            '#include "qklab/theory/solve.hpp"\n',
            "include/qklab/dynamics/flow.hpp:1: qklab/theory/solve.hpp: dynamics must not use theory",
        ),
        (
            "src/lab/train.cpp",
            '#include "../theory/map.hpp"\n',
            "src/lab/train.cpp:1: ../theory/map.hpp: lab must not use theory",
        ),
        (
            "src/lab/train.cpp",
            '#include "../../include/qklab/theory/solve.hpp"\n',
            "src/lab/train.cpp:1: ../../include/qklab/theory/solve.hpp: lab must not use theory",
        ),
        (
            "src/spectra/law.cpp",
            '#include "qklab/channel/channel.hpp"\n',
            "src/spectra/law.cpp:1: qklab/channel/channel.hpp: spectra must not use channel",
        ),
        (
            "src/tools/text.cpp",
            '#include "qklab/core/error.hpp"\n',
            "src/tools/text.cpp:1: qklab/core/error.hpp: no floor is called tools",
        ),
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
