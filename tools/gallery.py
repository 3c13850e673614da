"""Runs the commands of docs/gallery.md: the page is the list of its figures."""

import argparse
import os
import re
import shlex
import subprocess
import sys
import time
from pathlib import Path

ROOT = Path(__file__).resolve().parents[1]
COMMAND = Path(os.environ.get("QKLAB_COMMAND", ROOT / "build" / "release" / "qklab"))


def commands():
    page = (ROOT / "docs" / "gallery.md").read_text()
    return [shlex.split(line) for line in re.findall(r"^\$ qklab (.*)$", page, re.MULTILINE)]


def figure_of(arguments):
    return Path(arguments[arguments.index("--plot") + 1])


def main():
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--only", default="", help="figures whose name holds this text")
    only = parser.parse_args().only
    chosen = [arguments for arguments in commands() if only in figure_of(arguments).stem]
    if not chosen:
        sys.exit(f"gallery: no figure's name holds {only!r}")
    for arguments in chosen:
        figure = figure_of(arguments)
        (ROOT / figure).parent.mkdir(parents=True, exist_ok=True)
        print(f"== {figure.stem}", flush=True)
        begin = time.monotonic()
        status = subprocess.run([COMMAND, *arguments], cwd=ROOT, check=False).returncode
        if status != 0:
            sys.exit(status)
        print(f"{time.monotonic() - begin:.0f} s\n", flush=True)


if __name__ == "__main__":
    main()
