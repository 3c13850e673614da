"""`python -m qklab.figures OUTPUT < DOCUMENT`: exit 0 done, 2 when document or output path are no good."""

import argparse
import json
import logging
import sys

from qklab.figures import DocumentError, render


def main(arguments=None):
    parser = argparse.ArgumentParser(
        prog="qklab.figures", description="Draws the JSON document on standard input (docs/figures.md)."
    )
    parser.add_argument("output", help="where to write; the ending .svg, .pdf or .png chooses the format")
    output = parser.parse_args(arguments).output

    logging.getLogger("matplotlib").setLevel(logging.ERROR)
    try:
        render(json.load(sys.stdin), output)
    except json.JSONDecodeError as error:
        return complain(f"standard input: not JSON: {error}")
    except DocumentError as error:
        return complain(error)
    except OSError as error:
        return complain(f"{output}: {error.strerror or error}")
    return 0


def complain(message):
    print(f"qklab.figures: {message}", file=sys.stderr)
    return 2


if __name__ == "__main__":
    sys.exit(main())
