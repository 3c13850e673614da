"""Runs the built command `qklab` (QKLAB_COMMAND names another than build/release/qklab)."""

import fcntl
import json
import os
import pty
import re
import select
import struct
import subprocess
import tempfile
import termios
import time
from contextlib import suppress
from pathlib import Path

__all__ = ["COMMAND", "ROOT", "TINY", "TRAINED", "Terminal", "complaint", "objects", "qklab"]

ROOT = Path(__file__).resolve().parents[2]
COMMAND = Path(os.environ.get("QKLAB_COMMAND", ROOT / "build" / "release" / "qklab"))

# A problem that theory solves in closed form, and the least that can be trained.
TINY = ["--tokens", "1", "--activation", "identity", "--noise-out", "0.5", "--lambda", "0.3"]
TRAINED = [*TINY, "--dimension", "8", "--test-samples", "50", "--threads", "1"]


def qklab(*arguments, **options):
    return subprocess.run(
        [COMMAND, *map(str, arguments)],
        stdin=subprocess.DEVNULL,
        capture_output=True,
        text=True,
        check=False,
        timeout=300,
        **options,
    )


def objects(*arguments, status=0):
    """The JSON objects on standard output, which must hold nothing else."""
    result = qklab(*arguments, "--json")
    assert result.returncode == status, result.stderr
    return [json.loads(line) for line in result.stdout.splitlines()]


def complaint(*arguments, **options):
    """What the command says of arguments it refuses: one line, after which nothing is done."""
    result = qklab(*arguments, **options)
    assert result.returncode == 2, result
    assert result.stdout == ""
    assert re.fullmatch(r"qklab: [^\n]+\n", result.stderr), result.stderr
    return result.stderr.strip()


class Terminal:
    """The command with standard error on a terminal of a given width."""

    def __init__(self, columns, *arguments):
        self.master, terminal = pty.openpty()
        # A pipe that nobody reads would make the command wait.
        self.output = tempfile.TemporaryFile("w+")  # noqa: SIM115
        self.resize(columns)
        self.process = subprocess.Popen(
            [COMMAND, *map(str, arguments)],
            stdin=subprocess.DEVNULL,
            stdout=self.output,
            stderr=terminal,
            env={**os.environ, "TERM": "xterm"},
        )
        os.close(terminal)
        self.shown = ""

    def resize(self, columns):
        fcntl.ioctl(self.master, termios.TIOCSWINSZ, struct.pack("HHHH", 24, columns, 0, 0))

    def wait_for(self, pattern, seconds=120):
        end = time.monotonic() + seconds
        while not re.search(pattern, self.shown):
            assert time.monotonic() < end, f"{pattern!r} did not appear in {self.shown!r}"
            if select.select([self.master], [], [], 0.1)[0]:
                self.shown += os.read(self.master, 4096).decode()

    def finish(self):
        """Standard output and exit status once the command has ended."""
        self.process.wait(timeout=300)
        with suppress(OSError):  # raised once the terminal's other side is closed and all is read
            while text := os.read(self.master, 4096).decode():
                self.shown += text
        os.close(self.master)
        with self.output:
            self.output.seek(0)
            return self.output.read(), self.process.returncode

    def lines(self):
        """What stood on the progress line, one after another."""
        return [line for line in re.split(r"(?:\x1b\[\d*[A-Z])|\r|\n", self.shown) if line]
