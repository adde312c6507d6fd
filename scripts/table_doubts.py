#!/usr/bin/env python3
"""At which shapes a dispatch table is most likely to choose badly: there two tables, each learnt from half of its
measured shapes, choose otherwise, and each holds what the other takes for slow. In the form of --shapes, the most
doubtful first; `tmagen tune TABLE --quick --gpus all --shapes FILE` times the table's launches there.

usage: scripts/table_doubts.py TABLE.yaml N[/SEED] COUNT [LEAST]    from the root, after `make`
  N[/SEED]: shapes that are drawn, as --random draws them; COUNT: how many are printed at most
  LEAST: us that a shape should take; 4.5"""

import math
import os
import pathlib
import random
import re
import subprocess
import sys
import tempfile

TMAGEN = pathlib.Path("build/tmagen").resolve()
LOT = 5  # the seed


def halves(table):
    """The text of two tables with half of its measured shapes each, by lot, and nothing learnt."""
    head, _, rest = table.read_text().partition("\nmeasured:")
    comment, _, rows = rest.partition("\n")
    rows = re.split(r"\n(?=  - )", re.split(r"\n(?=\S)", rows, maxsplit=1)[0])
    random.Random(LOT).shuffle(rows)
    for half in (rows[::2], rows[1::2]):
        yield f"{head}\nmeasured:{comment}\n" + "\n".join(half) + "\n"


def rankings(table, drawn):
    """Of each shape the first launches by the table: {shape: [(launch, us), ...]}."""
    command = [TMAGEN, "explain", table, "--random", drawn]
    text = subprocess.run(command, capture_output=True, text=True, check=False).stdout
    found, launches = {}, []
    for line in text.splitlines():
        shape, words = re.search(r" on .*?, (\d+x\d+x\d+): ", line), line.split()
        if shape:
            launches = found.setdefault(shape[1], [])
        elif len(words) > 4 and words[1].isdigit():
            launches.append(((words[0], words[1]), float(words[3])))
    return found


def slower(ranking, launch):
    """How much longer than the first it takes, as a logarithm; what is not ranked as if it came next."""
    us = dict(ranking).get(launch, 1.02 * ranking[-1][1])
    return math.log(us / ranking[0][1])


def main():
    if len(sys.argv) not in (4, 5):
        sys.exit(__doc__)
    table, drawn, count = pathlib.Path(sys.argv[1]).resolve(), sys.argv[2], int(sys.argv[3])
    least = float(sys.argv[4]) if len(sys.argv) > 4 else 4.5
    ranked = []
    with tempfile.TemporaryDirectory() as place:
        for spec in table.parent.glob("*.yaml"):
            os.symlink(spec, pathlib.Path(place, spec.name))
        for number, text in enumerate(halves(table)):
            half = pathlib.Path(place, f"half{number}.yaml")
            half.write_text(text)
            learnt = subprocess.run([TMAGEN, "tune", "learn", half], capture_output=True, text=True, check=False)
            if learnt.returncode:
                sys.exit(learnt.stderr)
            half.write_text(text + learnt.stdout)
            ranked.append(rankings(half, drawn))
    doubts = []
    for shape in ranked[0].keys() & ranked[1].keys():
        one, other = ranked[0][shape], ranked[1][shape]
        if one and other and one[0][0] != other[0][0] and min(one[0][1], other[0][1]) >= least:
            doubts.append((slower(one, other[0][0]) + slower(other, one[0][0]), shape))
    for _, shape in sorted(doubts, reverse=True)[:count]:
        print("bf16", *shape.split("x"))


if __name__ == "__main__":
    main()
