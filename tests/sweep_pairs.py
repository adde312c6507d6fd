#!/usr/bin/env python3
"""The --set arguments of a few points of a sweep file, a line each, that have every two values of two
of its knobs between them. They are found by greed, the same ones every time.

usage: tests/sweep_pairs.py SWEEP.yaml   with its lists of values in flow style, one level deep
"""
import itertools
import random
import re
import sys

FLOW = re.compile(r"(\w+): \[([^][]*)\]")


def read_axes(path):
    """The knobs that have lists, by their paths, in the file's order."""
    axes, places = {}, []
    with open(path) as file:
        for line in file:
            line = line.split("#")[0].rstrip()
            depth = len(line) - len(line.lstrip())
            places = [place for place in places if place[0] < depth]
            outer = re.match(r"\s*(\w+):\s*(\{.*)?$", line)
            if outer:
                places.append((depth, outer[1]))
            for name, values in FLOW.findall(line):
                knob = ".".join([word for _, word in places] + [name])
                axes[knob] = [value.strip() for value in values.split(",")]
    return axes


def pairs_of(point):
    return set(itertools.combinations(sorted(point.items()), 2))


def cover(axes):
    draw, left = random.Random(1), set()
    for one, other in itertools.combinations(sorted(axes), 2):
        left |= {((one, x), (other, y)) for x in axes[one] for y in axes[other]}
    while left:
        (one, x), (other, y) = min(left)
        tries = []
        for _ in range(40):
            point = {knob: draw.choice(values) for knob, values in axes.items()}
            point[one], point[other] = x, y
            tries.append(point)
        best = max(tries, key=lambda point: len(pairs_of(point) & left))
        left -= pairs_of(best)
        yield best


for found in cover(read_axes(sys.argv[1])):
    print(" ".join(f"--set {knob}={value}" for knob, value in found.items()))
