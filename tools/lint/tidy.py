"""Runs clang-tidy over every source that the lint preset compiles.

Writes build/lint/tidy.ninja, one edge a source, and hands it to ninja: what was clean is not run again until
the source, one of our headers that it reaches, the rules or its compile command change.
"""

import argparse
import json
import re
import shlex
import shutil
import subprocess
import sys
from pathlib import Path

ROOT = Path(__file__).resolve().parents[2]
BUILD = ROOT / "build" / "lint"
PLUGIN_SOURCE = ROOT / "tools" / "lint" / "own_declarations.cpp"
PLUGIN = BUILD / "own_declarations.so"
INCLUDE = re.compile(r'^\s*#\s*include\s*[<"]([^">]+)[">]', re.MULTILINE)
RULES = """\
rule plugin
  command = c++ -std=c++17 -O1 -DNDEBUG -fPIC -shared -isystem $llvm_include $in -o $out
  description = build $out
rule tidy
  command = clang-tidy --quiet --load=$plugin $in -- $flags 2>$log && touch $out || { cat $log; false; }
  description = clang-tidy $in
"""


def own_headers(source, folders):
    """Our headers that a source reaches, those under an #if as well."""
    reached, waiting = set(), [source]
    while waiting:
        path = waiting.pop()
        for name in INCLUDE.findall(path.read_text(encoding="utf-8")):
            found = next((at / name for at in [path.parent, *folders] if (at / name).is_file()), None)
            if found is not None and found not in reached | {source}:
                reached.add(found)
                waiting.append(found)
    return sorted(reached)


def flags_of(command):
    """What a compile command tells the compiler, without the compiler and what it reads and writes."""
    words = shlex.split(command)
    return words[1 : words.index("-o")]


def own_folders(flags):
    folders = [Path(word[2:]) for word in flags if word.startswith("-I")]
    return [folder for folder in folders if folder.is_relative_to(ROOT)]


def escaped(text):
    return re.sub(r"([$ :])", r"$\1", str(text))


def edges(llvm_include):
    """The lines of the ninja file."""
    yield "builddir = build/lint"
    yield f"llvm_include = {llvm_include}"
    yield f"plugin = {PLUGIN.relative_to(ROOT)}"
    yield RULES
    yield f"build {PLUGIN.relative_to(ROOT)}: plugin {PLUGIN_SOURCE.relative_to(ROOT)}"
    for entry in json.loads((BUILD / "compile_commands.json").read_text()):
        source, flags = Path(entry["file"]), flags_of(entry["command"])
        headers = [escaped(path.relative_to(ROOT)) for path in own_headers(source, own_folders(flags))]
        name = escaped(source.relative_to(ROOT))
        stamp = f"build/lint/tidy/{name}.clean"
        yield f"build {stamp}: tidy {name} | .clang-tidy $plugin {' '.join(headers)}"
        yield f"  log = build/lint/tidy/{name}.log"
        yield f"  flags = {shlex.join(flags).replace('$', '$$')}"


def main():
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--jobs", type=int, default=1, help="how many at a time")
    jobs = parser.parse_args().jobs
    clang_tidy = shutil.which("clang-tidy")
    if clang_tidy is None:
        sys.exit("lint: clang-tidy is not installed")
    llvm_include = Path(clang_tidy).resolve().parents[1] / "include"
    page = BUILD / "tidy.ninja"
    page.write_text("\n".join(edges(llvm_include)) + "\n")
    command = ["ninja", "-C", ROOT, "-f", page, "-k", "0", "-j", str(jobs)]
    sys.exit(subprocess.run(command, check=False).returncode)


if __name__ == "__main__":
    main()
