"""The sides as processes that answer one JSON request a line."""

import json
import os
import subprocess
import sys
from pathlib import Path

HERE = Path(__file__).resolve().parent
ROOT = HERE.parents[1]
COMMAND = Path(os.environ.get("QKLAB_SIDE_BY_SIDE", ROOT / "build" / "release" / "side_by_side"))
# Older OpenBLAS needs these on some processors; in newer ones, such as SciPy's, they choose slower kernels.
OPENBLAS_OVERRIDES = ("OPENBLAS_CORETYPE", "OPENBLAS_L2_SIZE")


class Worker:
    def __init__(self, command, environment=None):
        self.process = subprocess.Popen(
            [*map(str, command)],
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            text=True,
            env={**os.environ, **(environment or {})},
        )

    def ask(self, do, **request):
        self.process.stdin.write(json.dumps({"do": do, **request}) + "\n")
        self.process.stdin.flush()
        line = self.process.stdout.readline()
        if not line:
            raise SystemExit(f"{self.process.args} ended at request {do} {request}")
        answer = json.loads(line)
        if set(answer) == {"error"} and isinstance(answer["error"], str):
            raise SystemExit(answer["error"])
        return answer

    def __enter__(self):
        return self

    def __exit__(self, *_):
        self.process.stdin.close()
        self.process.wait()
        self.process.stdout.close()


def ours():
    if not COMMAND.exists():
        raise SystemExit(f"{COMMAND} is not built; `make side-by-side` builds it")
    return Worker([COMMAND])


def pytorch():
    return Worker([sys.executable, HERE / "pytorch_worker.py"])


def plain(threads):
    environment = {"OPENBLAS_NUM_THREADS": str(threads)}
    worker = [sys.executable, HERE / "plain_state_evolution.py"]
    return Worker(["env", *(f"-u{name}" for name in OPENBLAS_OVERRIDES), *worker], environment)
