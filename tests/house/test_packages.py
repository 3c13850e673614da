import re
import subprocess

from tree import ROOT, files

# What CMake looks for, and the Debian package that brings it.
BRINGS = {
    "OpenMP": "g++",
    "PkgConfig": "pkgconf",
    "Eigen3": "libeigen3-dev",
    "Boost": "libboost-dev",
    "fmt": "libfmt-dev",
    "nlohmann_json": "nlohmann-json3-dev",
    "CLI11": "libcli11-dev",
    "MPI": "libopenmpi-dev",
    "libhwy": "libhwy-dev",
    "lbfgs": "liblbfgs-dev",
    "lbfgs.h": "liblbfgs-dev",
    "Random123/philox.h": "librandom123-dev",
    "toml++/toml.h": "libtomlplusplus-dev",
    "openblas": "libopenblas-openmp-dev",
    "openblas_config.h": "libopenblas-openmp-dev",
    "GTest": "libgtest-dev",
    "benchmark": "libbenchmark-dev",
}
SOUGHT = re.compile(
    r"find_package\((\w+)|pkg_check_modules\(\w+ (?:REQUIRED )?(?:IMPORTED_TARGET )?([\w.+-]+)"
    r"|find_(?:path|library)\(\w+ ([\w.+/-]+)"
)


LISTS = ("packages.txt", "packages_to_check.txt")


def lines(*lists):
    return [line for name in lists for line in (ROOT / "tools" / name).read_text().splitlines()]


def listed(*lists):
    return [name for line in lines(*lists) if (name := line.split("#")[0].strip())]


def sought():
    pages = [path for path in files() if path.suffix == ".cmake" or path.name == "CMakeLists.txt"]
    return {"".join(found) for page in pages for found in SOUGHT.findall(page.read_text())}


def test_every_library_that_cmake_seeks_is_a_listed_package():
    assert sought() >= {"Eigen3", "libhwy", "lbfgs", "openblas"}
    assert {
        name: BRINGS.get(name) for name in sought() if BRINGS.get(name) not in listed("packages.txt")
    } == {}


def test_every_listed_library_is_sought():
    libraries = {name for name in listed("packages.txt") if name.endswith("-dev")}
    assert libraries - {BRINGS[name] for name in sought()} == set()


def test_every_package_is_listed_once_with_its_reason():
    assert len(listed(*LISTS)) == len(set(listed(*LISTS)))
    reasonless = [line for line in lines(*LISTS) if line and not line.startswith("#") and " # " not in line]
    assert reasonless == []


def test_python_packages_are_pinned():
    required = (ROOT / "requirements.txt").read_text().splitlines()
    pins = [line for line in required if line and not line.startswith("#")]
    assert pins
    assert [line for line in pins if not re.fullmatch(r"[\w.-]+==[\w.]+", line)] == []


def test_make_alone_only_lists_what_can_be_asked_for():
    listing = subprocess.run(["make", "-C", ROOT], capture_output=True, text=True, check=True).stdout
    assert {"make demo", "make test", "make lint"} <= {
        " ".join(line.split()[:2]) for line in listing.splitlines()
    }
