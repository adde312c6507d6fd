#!/usr/bin/env python3
"""Kernels that no spec ships: every two values of two knobs that go together, in few kernels.

Specs are drawn from each family's table of knobs: a rung with some knobs changed, then mixtures of
those that were legal, then one for each two values that none has yet. Each must be legal, or
refused with the name of what is wrong and what would be legal. Of the legal ones those are chosen
that bring most pairs that none before had; all chosen are generated, the first of a family verified
on the emulator, on small shapes.

usage: TMAGEN=build/tmagen tests/pairwise.py [OPTION...] [FAMILY|FAMILY-blackwell...]
  --seed N    which are drawn; the same seed draws the same, none a fresh one, which is printed
  --verify N  how many of a family are verified; 0, or nothing: all that were chosen
  --least P   percent of the pairs found that the verified must have (0)
  --rounds N  how long it draws (3)
  --no-waves  verifies without shapes of several waves, whose references take half of the time
  --all       asks for every pair of the table, on every rung, and says how many none can have
The exit code is 1 where a kernel is wrong, a refusal has no reason, or the verified have too few
pairs.
"""
import argparse
import itertools
import json
import os
import random
import re
import subprocess
import sys
import tempfile
from pathlib import Path

TMAGEN = os.environ.get("TMAGEN", "build/tmagen")
LEVELS = {"problem": {"levels": [[9, 14], [5, 7], [1, 3]]}}
BLACKWELL = {"arch": "sm_100a"}
FAMILIES = {"gemm": {}, "resample": {}, "quantise": {}, "deform_attn": LEVELS,
            "deform_pair": LEVELS, "gemm-blackwell": BLACKWELL, "blockscaled-blackwell": BLACKWELL}
# what lists may be, of knobs that are lists; other lists, sizes and limits are left alone
LISTS = {"epilogue.ops": ["[]", "[bias]", "[relu]", "[residual, relu]"]}
LEFT_ALONE = re.compile(r"arch|phase|budget\..*|problem\.levels")
DRAWN, CHANGES = 150, 4  # specs a round, and knobs that one changes


def tmagen(*arguments):
    return subprocess.run([os.path.abspath(TMAGEN), *arguments], text=True, capture_output=True)


def read_knobs(family, draw):
    """The rungs, and the values to be drawn of each knob: all words, of numbers both ends and some
    between."""
    knobs, rungs = {}, []
    for name, text in re.findall(r"^  ([a-z_.]+): (.*) \(default", tmagen("explain", family.split("-")[0]).stdout,
                                 re.M):
        span = re.match(r"(\d+)\.\.(\d+)(?:.* in steps of (\d+))?", text)
        words = [word.split()[0] for word in re.split(r", | or ", text)]
        if name == "phase":
            rungs = [int(word) for word in words]
        if name in LISTS:
            knobs[name] = LISTS[name]
        elif LEFT_ALONE.fullmatch(name) or "a list" in text:
            continue
        elif text.startswith("dynamic"):
            knobs[name] = ["dynamic"]
        elif span:
            least, most, step = int(span[1]), int(span[2]), int(span[3] or 1)
            between = [least + step * 2**i for i in range(12) if least + step * 2**i < most]
            some = draw.sample(between, min(2, len(between)))
            knobs[name] = [str(number) for number in sorted({least, most, *some})]
        else:
            knobs[name] = words
    return rungs, knobs


class Family:
    """Specs of a family, each a rung and changes, with the pairs of those that are legal."""

    def __init__(self, name, draw, folder):
        self.name, self.draw, self.folder = name, draw, Path(folder)
        self.rungs, self.knobs = read_knobs(name, draw)
        self.legal, self.refused, self.unexplained, self.found = {}, set(), [], set()

    def text(self, spec):
        rung, changes = spec
        kernel = self.name.split("-")[0]
        tree = {"kernel": kernel, "phase": rung, **json.loads(json.dumps(FAMILIES[self.name]))}
        for knob, value in changes:
            *path, last = knob.split(".")
            place = tree
            for part in path:
                place = place.setdefault(part, {})
            place[last] = value
        return json.dumps(tree).replace('"', "")

    def write(self, specs):
        names = [f"{self.name}_drawn{i}.yaml" for i in range(len(specs))]
        for name, spec in zip(names, specs):
            (self.folder / name).write_text(self.text(spec) + "\n")
        return [str(self.folder / name) for name in names]

    def judge(self, specs):
        """Checks those that are new, and notes the pairs of the legal ones."""
        specs = [spec for spec in dict.fromkeys(specs)
                 if spec not in self.legal and spec not in self.refused]
        for start in range(0, len(specs), 400):
            part = specs[start:start + 400]
            files = self.write(part)
            said = dict.fromkeys(files, "")
            errors = tmagen("check", *files).stderr
            for error in filter(None, re.split(r"\n(?=\S+: error: )", errors)):
                said[error.split(":")[0]] = error
            self.unexplained += [said[place] for place in said if place not in files]
            good = [file for file in files if not said[file]]
            for spec, file in zip(part, files):
                if file in good:
                    continue
                self.refused.add(spec)
                if not re.search(r" error: .+\n(.*\n)*  legal: .", said[file]):
                    self.unexplained.append(f"{self.text(spec)}: {said[file]}")
            self.explain([(s, f) for s, f in zip(part, files) if f in good])

    def explain(self, pairs):
        if not pairs:
            return
        text = tmagen("explain", *[file for _, file in pairs]).stdout
        tables = re.findall(r"^knobs\n(.*?)\n\n", text, re.M | re.S)
        assert len(tables) == len(pairs), "explain says nothing of a legal spec"
        for (spec, _), table in zip(pairs, tables):
            rows = [line.split() for line in table.splitlines()]
            values = [f"{row[0]}={row[1]}" for row in rows if row[0] in self.knobs]
            self.legal[spec] = set(itertools.combinations(sorted(values), 2))
            self.found |= self.legal[spec]

    def drawn(self):
        for _ in range(DRAWN):
            knobs = self.draw.sample(list(self.knobs), self.draw.randint(0, CHANGES))
            yield (self.draw.choice(self.rungs),
                   tuple(sorted((knob, self.draw.choice(self.knobs[knob])) for knob in knobs)))

    def mixtures(self):
        """Two legal specs of one rung in one: more knobs changed at once than chance would let."""
        for _ in range(DRAWN):
            one, other = self.draw.choices(list(self.legal), k=2)
            if one[0] == other[0]:
                yield (one[0], tuple(sorted({**dict(one[1]), **dict(other[1])}.items())))

    def asked(self):
        """Every pair of values of the table that no legal spec has yet."""
        for one, other in itertools.combinations(sorted(self.knobs), 2):
            for x, y in itertools.product(self.knobs[one], self.knobs[other]):
                if (f"{one}={x}", f"{other}={y}") not in self.found:
                    yield ((one, x), (other, y))

    def look(self, rounds, everywhere):
        self.judge((rung, ()) for rung in self.rungs)
        for _ in range(rounds):
            self.judge(list(self.drawn()))
            self.judge(list(self.mixtures()))
        for rung in reversed(self.rungs if everywhere else []):
            self.judge([(rung, pair) for pair in self.asked()])
            for _ in range(rounds):
                self.judge(list(self.mixtures()))

    def choose(self):
        """As few legal specs as greed finds that have all pairs found."""
        left, chosen, rest = set(self.found), [], dict(self.legal)
        while left:
            best = max(rest, key=lambda spec: len(rest[spec] & left))
            chosen.append(best)
            left -= rest.pop(best)
            rest = {spec: pairs & left for spec, pairs in rest.items() if pairs & left}
        return chosen


def run(family, arguments):
    family.look(arguments.rounds, arguments.all)
    chosen = family.choose()
    verified = chosen[:arguments.verify or None]
    pairs = set().union(*(family.legal[spec] for spec in verified))
    share = len(pairs) / max(len(family.found), 1)
    if not family.legal:
        return ["none is legal"]
    print(f"{family.name}: {len(family.legal)} of {len(family.legal) + len(family.refused)} drawn "
          f"are legal; {len(family.found)} pairs, all in {len(chosen)} kernels, "
          f"{len(pairs)} ({share:.0%}) in the {len(verified)} verified", flush=True)
    bad = [f"refused without a reason: {text}" for text in family.unexplained[:5]]
    if arguments.all:
        never = list(family.asked())
        print(f"  {len(never)} pairs of the table are in none: each was refused on every rung")
    if share < arguments.least / 100:
        bad.append(f"the verified have {share:.0%} of the pairs, less than {arguments.least}%")
    out = str(family.folder / "out")
    files = family.write(chosen)
    made = tmagen("gen", "-o", out, *files)
    if made.returncode:
        bad.append(f"legal and yet not generated: {made.stderr}")
    done = tmagen("verify", "--device", "emu", "--schedules", "1", "--seed", str(arguments.seed),
                  *(["--no-waves"] if arguments.no_waves else []), "-o", out,
                  *files[:len(verified)])
    if done.returncode:
        bad += [line for line in done.stdout.splitlines() if " ok " not in line]
        bad += [done.stderr] + [f"{Path(file).stem}: {family.text(spec)}"
                                for spec, file in zip(verified, files)]
    return bad


def main():
    parser = argparse.ArgumentParser()
    parser.add_argument("--seed", type=int, default=random.SystemRandom().randrange(10**6))
    parser.add_argument("--verify", type=int, default=0)
    parser.add_argument("--least", type=int, default=0)
    parser.add_argument("--rounds", type=int, default=3)
    parser.add_argument("--no-waves", action="store_true")
    parser.add_argument("--all", action="store_true")
    parser.add_argument("families", nargs="*", default=list(FAMILIES))
    arguments = parser.parse_args()
    print(f"seed {arguments.seed}: --seed {arguments.seed} draws the same", flush=True)
    bad = []
    for name in arguments.families:
        with tempfile.TemporaryDirectory() as folder:
            family = Family(name, random.Random(f"{name} {arguments.seed}"), folder)
            bad += [f"{name}: {what}" for what in run(family, arguments)]
    print("\n".join(bad), end="\n" if bad else "")
    return bool(bad)


sys.exit(main())
