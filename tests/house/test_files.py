import re

import floors
import pytest
from tree import ROOT, cpp_files, files

LONGEST_FILE = 400
PAPERS = ("arXiv:2509.24914", "arXiv:2609.03858")

# Written in pieces, so that this file does not hold what it looks for.
MACHINE_PATHS = ["/" + name + "/" for name in ("work", "root", "home")]
REGISTRY_HOSTS = [
    ".".join(parts)
    for parts in (
        ("pypi", "org"),
        ("pythonhosted", "org"),
        ("deb", "debian", "org"),
        ("archive", "ubuntu", "com"),
        ("anaconda", "org"),
        ("npmjs", "org"),
        ("crates", "io"),
        ("proxy", "golang", "org"),
    )
]


def test_no_source_is_too_long_to_read():
    lengths = {p.relative_to(ROOT): len(p.read_text().splitlines()) for p in cpp_files("include", "src")}
    assert lengths
    assert {path: n for path, n in lengths.items() if n > LONGEST_FILE} == {}


def test_no_machine_path_and_no_registry_is_named():
    forbidden = re.compile("|".join(map(re.escape, MACHINE_PATHS + REGISTRY_HOSTS)).encode())
    found = {
        (str(path.relative_to(ROOT)), match.decode())
        for path in files()
        for match in forbidden.findall(path.read_bytes())
    }
    assert found == set()


@pytest.mark.parametrize(
    "floor", sorted(p.name for p in (ROOT / "src").iterdir() if p.is_dir() and any(p.rglob("*.cpp")))
)
def test_every_floor_has_its_tests(floor):
    assert floor in floors.HEIGHT
    assert any((ROOT / "tests" / floor).rglob("*_test.cpp")), f"tests/{floor} holds no *_test.cpp"


def test_every_header_is_included_once():
    headers = [path for path in cpp_files("include", "src") if path.suffix == ".hpp"]
    repeated = {path for path in headers if path.stem.endswith("-inl")}  # compiled again for each SIMD target
    guarded = {path for path in headers if re.search(r"^#pragma once$", path.read_text(), re.MULTILINE)}
    assert set(headers) - repeated - guarded == set()


def test_both_papers_are_cited():
    text = (ROOT / "CITATION.cff").read_text()
    assert [paper for paper in PAPERS if paper not in text] == []


@pytest.mark.parametrize("page", files(".md"), ids=lambda page: str(page.relative_to(ROOT)))
def test_links_between_pages_lead_somewhere(page):
    text = re.sub(r"```.*?```", "", page.read_text(), flags=re.DOTALL)
    links = [link for link in re.findall(r"\]\(([^)\s]+)\)", text) if "://" not in link and link[0] != "#"]
    assert [link for link in links if not (page.parent / link.split("#")[0]).exists()] == []
