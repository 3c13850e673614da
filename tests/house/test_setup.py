"""The set-up scripts, run with stand-ins for the machine's own programs."""

import os
import shutil
import subprocess
from pathlib import Path

import pytest
from tree import ROOT

SCRIPT = ROOT / "tools" / "install_packages.sh"
BASE_TOOLS = ("bash", "dirname", "sed", "sort", "comm", "env", "cat")


@pytest.fixture
def machine(tmp_path):
    """A machine of which the programs are known: those a shell script needs, and what a test adds."""
    for name in BASE_TOOLS:
        found = next(p for folder in ("/usr/bin", "/bin") if (p := Path(folder, name)).exists())
        (tmp_path / name).symlink_to(found)
    add(tmp_path, "id", "echo 0")
    add(tmp_path, "apt-get", f'echo "$@" >> {tmp_path}/apt.log')
    return tmp_path


def add(machine, name, script):
    (machine / name).write_text(f"#!{machine}/bash\n{script}\n")
    (machine / name).chmod(0o755)


def install(machine, *lists):
    return subprocess.run(
        [machine / "bash", SCRIPT, *lists],
        env={"PATH": str(machine)},
        capture_output=True,
        text=True,
        check=False,
    )


def dpkg_lists(machine, *missing):
    """dpkg-query that knows every package as installed, but for those removed and those never heard of."""
    skip = " ".join(missing)
    add(
        machine,
        "dpkg-query",
        f'for p in "${{@:3}}"; do case " {skip} " in *" $p "*) ;; *) echo "installed $p";; esac; done',
    )


def apt_log(machine):
    log = machine / "apt.log"
    return log.read_text().splitlines() if log.exists() else []


def test_nothing_is_done_when_everything_is_there(machine):
    dpkg_lists(machine)
    result = install(machine)
    assert result.returncode == 0
    assert "all" in result.stdout
    assert apt_log(machine) == []


def test_only_missing_packages_are_installed(machine):
    dpkg_lists(machine, "libfmt-dev", "ninja-build")
    result = install(machine)
    assert result.returncode == 0
    assert "libfmt-dev ninja-build" in result.stdout
    update, command = apt_log(machine)
    assert update.endswith("update")
    assert command.endswith("libfmt-dev ninja-build")


def test_what_only_checks_need_is_installed_for_them_alone(machine):
    dpkg_lists(machine, "clang-tidy")
    assert install(machine).returncode == 0
    assert apt_log(machine) == []
    assert install(machine, "packages_to_check.txt").returncode == 0
    assert apt_log(machine)[1].endswith("clang-tidy")


def test_a_removed_package_counts_as_missing(machine):
    add(machine, "dpkg-query", 'for p in "${@:3}"; do echo "not-installed $p"; done')
    assert install(machine).returncode == 0
    assert "libeigen3-dev" in apt_log(machine)[1]


def test_other_users_install_through_sudo(machine):
    dpkg_lists(machine, "make")
    add(machine, "id", "echo 1000")
    add(machine, "sudo", f'echo "sudo" >> {machine}/apt.log; exec "$@"')
    assert install(machine).returncode == 0
    assert apt_log(machine)[::2] == ["sudo", "sudo"]


def test_without_sudo_the_command_to_run_is_told(machine):
    dpkg_lists(machine, "make")
    add(machine, "id", "echo 1000")
    result = install(machine)
    assert result.returncode == 1
    assert "apt-get install make" in result.stderr
    assert apt_log(machine) == []


def test_a_failed_installation_is_a_failure(machine):
    dpkg_lists(machine, "make")
    add(machine, "apt-get", "exit 100")
    assert install(machine).returncode != 0


def test_elsewhere_the_packages_are_named(machine):
    (machine / "apt-get").unlink()
    result = install(machine)
    assert result.returncode == 0
    assert "libopenblas-openmp-dev" in result.stdout


@pytest.fixture
def project(tmp_path):
    """A project whose interpreter only writes down what it is asked, to make its environment from."""
    shutil.copytree(ROOT / "tools", tmp_path / "tools")
    (tmp_path / "requirements.txt").write_text("numpy==1\n")
    interpreter = tmp_path / "python3"
    interpreter.write_text(
        f"""#!/bin/bash
echo "$@" >> {tmp_path}/python.log
if [ "$1 $2" = "-m venv" ]; then rm -rf "$4"; mkdir -p "$4/bin"; cp "$0" "$4/bin/python"; fi
if [ "$1 $2" = "-m pip" ] && [ -e {tmp_path}/offline ]; then exit 1; fi
"""
    )
    interpreter.chmod(0o755)
    return tmp_path


def make_environment(project, *arguments):
    """Runs the script; how often it made an environment so far, and its result."""
    result = subprocess.run(
        [project / "tools" / "python_environment.sh", *arguments],
        env={**os.environ, "QKLAB_PYTHON": str(project / "python3")},
        capture_output=True,
        text=True,
        check=False,
    )
    return (project / "python.log").read_text().count("-m venv"), result


def test_the_python_environment_is_made_once(project):
    assert make_environment(project)[0] == 1
    made, result = make_environment(project)
    assert made == 1
    assert "up to date" in result.stdout


def test_other_requirements_make_it_anew(project):
    make_environment(project)
    (project / "requirements.txt").write_text("numpy==2\n")
    assert make_environment(project)[0] == 2


def test_the_environment_of_benchmarks_is_another_one(project):
    make_environment(project)
    (project / "other.txt").write_text("torch==2\n")
    assert make_environment(project, ".venv-bench", "other.txt")[0] == 2
    assert (project / ".venv-bench" / "requirements.installed").read_text() == "torch==2\n"
    assert make_environment(project)[0] == 2


def test_an_environment_half_made_is_not_taken_for_one(project):
    (project / "offline").touch()
    assert make_environment(project)[1].returncode != 0
    (project / "offline").unlink()
    made, result = make_environment(project)
    assert (made, result.returncode) == (2, 0)
