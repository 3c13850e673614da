"""What makes `make lint` run a source again."""

import tidy


def test_headers_are_followed_from_folder_to_folder_and_round_in_circles(tmp_path):
    beside, include = tmp_path / "src", tmp_path / "include"
    (include / "qklab").mkdir(parents=True)
    beside.mkdir()
    source = beside / "a.cpp"
    source.write_text('#include "a.hpp"\n#include <vector>\n#if 0\n#  include "never.hpp"\n#endif\n')
    (beside / "a.hpp").write_text('#include "qklab/b.hpp"\n')
    (beside / "never.hpp").write_text("")
    (beside / "unused.hpp").write_text("")
    (include / "qklab" / "b.hpp").write_text('#include "qklab/c.hpp"\n')
    (include / "qklab" / "c.hpp").write_text('#include "qklab/b.hpp"\n')
    reached = tidy.own_headers(source, [include, beside])
    assert {path.name for path in reached} == {"a.hpp", "b.hpp", "c.hpp", "never.hpp"}


def test_flags_are_what_lies_between_the_compiler_and_its_output():
    command = r"/usr/bin/c++ -DDATA=\"/tests\" -std=c++20 -o x.o -c x.cpp"
    assert tidy.flags_of(command) == ['-DDATA="/tests"', "-std=c++20"]
