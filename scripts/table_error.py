#!/usr/bin/env python3
"""How far off the model is of all times that a dispatch table has, and how fast what it chooses is.

usage: scripts/table_error.py [TABLE.yaml]    from the root, after `make`

Of a thousand shapes at most. Each is also chosen for as a table without it would: by what was measured
at the others, and without what is learnt, of which `tmagen tune learn` says what it brings."""

import math
import pathlib
import re
import statistics
import subprocess
import sys
import tempfile

import yaml

TMAGEN = pathlib.Path("build/tmagen").resolve()


def constant(name, file="runtime/near.c"):
    """A number that the library has, from its source."""
    return float(re.search(name + r"\s*=?\s*([\d.]+)", pathlib.Path(file).read_text())[1])


WIDTH, FAR, ALIGNED, DOUBT = (constant("#define " + n) for n in ("WIDTH", "FAR", "ALIGNED", "DOUBT"))
MOST = int(constant("TMG_NEAR_MOST", "runtime/near.h"))
MOST_ASKED = 1000    # shapes that are chosen for, of all alike
ENOUGH = constant("#define TMG_NEAR_ENOUGH", "runtime/near.h")


def launches(table):
    """KERNEL or KERNEL/SPLITS, whether it is for all launches, and whether every row has measured it."""
    for row in table["kernels"]:
        row = row if isinstance(row, dict) else {"kernel": row}
        for parts in row.get("splits", [0]):
            name = row["kernel"] + (f"/{parts}" if parts else "")
            yield name, not row.get("last"), row.get("measured", True)


def predict(names, folder, shapes):
    """The us of each launch at each shape, by `tmagen explain`."""
    with tempfile.TemporaryDirectory() as place:
        files = {}
        for name in names:
            kernel, _, parts = name.partition("/")
            file = pathlib.Path(place, name.replace("/", "_by_") + ".yaml")
            file.write_text(f"base: {folder / kernel}.yaml\n" + (f"splits: {parts}\n" if parts else ""))
            files[file.stem] = name
        listed = pathlib.Path(place, "shapes")
        listed.write_text("".join(f"bf16 {s.replace('x', ' ')}\n" for s in shapes))
        command = [TMAGEN, "explain", *(f"{place}/{f}.yaml" for f in files), "--shapes", listed]
        text = subprocess.run(command, capture_output=True, text=True, check=False).stdout
    times, shape = {}, None
    for line in text.splitlines():
        found = re.search(r", (\d+x\d+x\d+): predicted", line)
        words = line.split()
        if found:
            shape = times.setdefault(found[1], {})
        elif words and words[0] in files:
            shape[files[words[0]]] = float(words[1])
    return times


def place_of(shape):
    """log2 of the sizes, and the class of how rows of bf16 lie."""
    sizes = [int(size) for size in shape.split("x")]
    bits = 2 * sizes[1] | 2 * sizes[2] | 128
    return [math.log2(size) for size in sizes], math.log2(bits & -bits)


def misses_of(row, predicted, known):
    """log of measured by predicted; of what took longer than all named, at least that."""
    us = row["us"]
    slowest = max([us[n] for n in us if n in known], default=0)
    misses = {n: math.log(us[n] / predicted[n]) for n in us if n in predicted}
    for name in known:
        if name not in us and name in predicted and slowest:
            misses[name] = max(0, math.log(slowest / predicted[name]))
    return misses


def choose(at, rows, predicted, nearby):
    """What the table without the row [at] takes; of [nearby] only what was measured near it."""
    near = []
    for row in rows:
        apart = sum((a - b) ** 2 for a, b in zip(row["at"], at["at"])) if row is not at else FAR + 1
        apart += ALIGNED * min(2, abs(row["class"] - at["class"])) if apart <= FAR else 0
        if apart <= FAR:
            near.append((math.exp(-apart / (2 * WIDTH * WIDTH)), row["misses"]))
    near = sorted(near, key=lambda pair: -pair[0])[:MOST]

    def likely(name):
        some = [(weight, misses[name]) for weight, misses in near if name in misses]
        if name in nearby and sum(weight for weight, _ in some) < ENOUGH:
            return math.inf
        return math.log(predicted[name]) + sum(w * m for w, m in some) / (sum(w for w, _ in some) + DOUBT)

    return min(predicted, key=likely)


def say(what, values):
    """The geometric mean and the least of [values], shares of a best time."""
    print(f"{what}: {math.exp(statistics.mean(map(math.log, values))):.3f}, least {min(values):.2f},"
          f" of {len(values)} shapes")


def main():
    path = pathlib.Path(sys.argv[1] if len(sys.argv) > 1 else "specs/gemm_bf16_h200.yaml")
    table = yaml.safe_load(path.read_text())
    names = [(name, measured) for name, usual, measured in launches(table) if usual]
    rows, family = table["measured"], table["dispatch"] + "_"
    for row in rows:    # which may leave the family's name out
        row["us"] = {name if name.startswith(family) else family + name: us for name, us in row["us"].items()}
    times = predict([name for name, _ in names], path.parent.resolve(), [r["shape"] for r in rows])
    rows = [row for row in rows if len(times.get(row["shape"], ())) > 1]
    all_errors, near_errors, model, chosen, unknown = [], [], [], [], 0
    for row in rows:
        row["at"], row["class"] = place_of(row["shape"])
        row["misses"] = misses_of(row, times[row["shape"]], {n for n, measured in names if measured is True})
    nearby = {n for n, measured in names if measured == "nearby"}
    for row in rows[:: len(rows) // MOST_ASKED + 1]:
        us, predicted = row["us"], times[row["shape"]]
        best = min(us.values())
        for name in us.keys() & predicted.keys():
            error = abs(predicted[name] / us[name] - 1)
            all_errors.append(error)
            if us[name] <= 1.1 * best:
                near_errors.append(error)
        for shares, name in ((model, min(predicted, key=predicted.get)), (chosen, choose(row, rows, predicted, nearby))):
            if name in us:
                shares.append(best / us[name])
            elif shares is chosen:
                unknown += 1
    print(f"{path.name}: {len(all_errors)} times of {len(names)} launches")
    print(f"median error {statistics.median(all_errors):.1%}, within a tenth of the best"
          f" {statistics.median(near_errors):.1%}")
    say("what the model alone takes, of the best", model)
    say("what a table without the shape takes, of the best", chosen)
    print(f"and at {unknown} more something that was not among the measured")


if __name__ == "__main__":
    main()
