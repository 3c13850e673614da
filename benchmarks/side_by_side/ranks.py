"""Strong scaling of one training run whose data are shared by the ranks of mpirun."""

import json
import os
import shutil
import subprocess

from . import problems
from .timing import in_turns
from .workers import ROOT

COMMAND = ROOT / "build" / "release" / "qklab"
EPOCHS = 40
# Also for root, with more ranks than cores, and with more threads than one to a rank.
ENVIRONMENT = {
    "OMPI_ALLOW_RUN_AS_ROOT": "1",
    "OMPI_ALLOW_RUN_AS_ROOT_CONFIRM": "1",
    "OMPI_MCA_rmaps_base_oversubscribe": "1",
    "OMPI_MCA_hwloc_base_binding_policy": "none",
}


def measure(toy, threads, rounds):
    """Seconds of drawing and 40 epochs by ranks x threads, in turns; nothing where mpirun is missing."""
    if shutil.which("mpirun") is None:
        return None
    problem = problems.TOY_TRAINING[0] if toy else problems.TRAINING[-1]
    options = [f"--{name.replace('_', '-')}={value}" for name, value in problem.items()]
    options += [f"--max-epochs={EPOCHS}", "--precision=f32", "--test-samples=100", "--json", "--quiet"]
    layouts = {"1 x 1": (1, 1), f"1 x {threads}": (1, threads), f"{threads} x 1": (threads, 1)}
    calls = {
        name: lambda ranks=ranks, count=count: _seconds(ranks, [*options, f"--threads={count}"])
        for name, (ranks, count) in layouts.items()
    }
    return in_turns(calls, rounds)


def _seconds(ranks, options):
    """As the run itself counts them; it need not converge."""
    result = subprocess.run(
        ["mpirun", "-n", str(ranks), COMMAND, "train", *options],
        env={**os.environ, **ENVIRONMENT},
        capture_output=True,
        text=True,
        check=False,
    )
    lines = result.stdout.splitlines()
    if len(lines) != 1:
        raise SystemExit(f"mpirun -n {ranks} qklab train: {result.stderr or 'one result a rank'}")
    return json.loads(lines[0])["seconds"]
