"""Says how many lines of each room the tests ran, from gcovr's JSON summary; fails where that is too few.

coverage.py SUMMARY.json
"""

import argparse
import json
import sys
from pathlib import Path

WHOLE_FLOORS = ("core", "spectra")  # one room each
LEAST_IN_A_ROOM = 80.0  # per cent
LEAST_IN_TOTAL = 90.0


def main():
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("summary", type=Path)
    rooms = by_room(json.loads(parser.parse_args().summary.read_text()))
    print(table(rooms))
    complaints = shortcomings(rooms)
    for complaint in complaints:
        print(f"coverage: {complaint}", file=sys.stderr)
    return 1 if complaints else 0


def by_room(summary):
    """(covered, all) lines of each room. A header of `include` belongs to the room it is the face of."""
    rooms = {}
    for file in summary["files"]:
        room = room_of(file["filename"])
        covered, lines = rooms.get(room, (0, 0))
        rooms[room] = covered + file["line_covered"], lines + file["line_total"]
    return dict(sorted(rooms.items()))


def room_of(filename):
    below = filename.removeprefix("src/").removeprefix("include/qklab/")
    floor, *rest = below.split("/")
    if not rest:
        return "main"
    return floor if floor in WHOLE_FLOORS else f"{floor}/{rest[0]}"


def shortcomings(rooms):
    if not rooms:
        return ["no line was counted"]
    found = [
        f"{room}: {percent(*lines):.1f} % is below {LEAST_IN_A_ROOM:.0f} %"
        for room, lines in rooms.items()
        if percent(*lines) < LEAST_IN_A_ROOM
    ]
    if percent(*total(rooms)) < LEAST_IN_TOTAL:
        found.append(f"in total: {percent(*total(rooms)):.1f} % is below {LEAST_IN_TOTAL:.0f} %")
    return found


def table(rooms):
    rows = [("room", "covered", "lines", "%")]
    rows += [
        (room, str(covered), str(lines), f"{percent(covered, lines):.1f}")
        for room, (covered, lines) in [*rooms.items(), ("total", total(rooms))]
    ]
    widths = [max(map(len, column)) for column in zip(*rows, strict=True)]
    return "\n".join(
        "  ".join(
            [row[0].ljust(widths[0]), *(cell.rjust(w) for cell, w in zip(row[1:], widths[1:], strict=True))]
        )
        for row in rows
    )


def total(rooms):
    return sum(covered for covered, _ in rooms.values()), sum(lines for _, lines in rooms.values())


def percent(covered, lines):
    return 100 * covered / lines if lines else 100.0


if __name__ == "__main__":
    sys.exit(main())
