"""The end of each check of tools/: print what it found wrong, and fail then."""
import pathlib
import sys


def end(found):
    """`found` yields a line for each thing that is wrong."""
    lines = list(found)
    for line in lines:
        print(line, file=sys.stderr)
    sys.exit(1 if lines else 0)


def check_tree(check):
    """Run check(ROOT), where ROOT is the first argument or the folder that the caller is in."""
    end(check(pathlib.Path(sys.argv[1] if len(sys.argv) > 1 else ".")))
