#!/usr/bin/env python3
"""Plants the mistakes of tests/mutations.txt one at a time and asks whether any test notices.

Each is planted in a scratch checkout of HEAD below the build folder, which is built, its out/
regenerated, and tested: first by the tests of the mistake's area, then by all. What no test notices
must be marked as equivalent, with the reason; every other survivor makes the exit code 1.

usage: scripts/mutate.py [-j N] [--quick] [PATTERN...]   mistakes whose id or area match, else all
  --quick: only the tests of the area
"""
import argparse
import os
import re
import subprocess
import sys
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from queue import Queue

# What is run, in this order and up to the first that notices: patterns of tests/run_tests.sh, and
# specs of which a few are verified before all are. At last, without --quick, every test.
AREAS = {
    "gemm": ["specs gemm_phase1 gemm_phase6 gemm_64x32", "cli/gemm_ops", "specs gemm_phase5",
             "specs gemm_128x192_bias", "cli/emu_unshipped", "unit/runtime/test_wide",
             "cli/profile", "cli/pairwise", "cli/emu_verify", "cli/emu_shapes"],
    "deform": ["specs deform_attn_phase1 deform_attn_phase5 deform_attn_phase10",
               "cli/emu_unshipped", "unit/runtime/test_wide", "cli/profile", "cli/pairwise",
               "cli/emu_verify", "cli/emu_shapes"],
    "resample": ["specs resample_phase3 resample_persistent resample_odd", "cli/emu_unshipped",
                 "unit/runtime/test_wide", "cli/profile", "cli/pairwise", "cli/emu_verify",
                 "cli/emu_shapes"],
    "ptx": ["specs gemm_phase6 deform_attn_phase10 resample_persistent", "cli/gemm_ops",
            "cli/profile", "cli/emu_verify"],
    "emu": ["unit/emu", "cli/emu_reports", "cases/emulate", "unit/runtime/test_device_emu",
            "cli/emu_vectors", "cli/emu_rooms", "cli/emu_verify"],
    "gen": ["unit/gen", "tests/cases", "cli/out_pair", "cli/gen", "cli/own_family"],
    "cache": ["unit/runtime/test_cache", "unit/runtime/test_[ek]", "cli/cache"],
    "launch": ["unit/runtime"],
    "measure": ["unit/measure", "cli/bench", "cli/verify", "cli/ladder", "cli/own_family"],
}


class Mutation:
    """A mistake: [edits] are (file, old, new), and old stands once in its file."""

    def __init__(self, name, area, what):
        self.name, self.area, self.what = name, area, what
        self.edits, self.equivalent = [], None

    def plant(self, root):
        """Why it cannot be planted, or None when it is."""
        for path, old, new in self.edits:
            file = root / path
            text = file.read_text() if file.exists() else ""
            there = ("\n" + text).count("\n" + old)
            if there != 1:
                return f"{path}: the text to replace is there {there} times"
            file.write_text(("\n" + text).replace("\n" + old, "\n" + new)[1:])
        return None


def read_mutations(path):
    """tests/mutations.txt says at its top how it is written."""
    mutations, part, place = [], None, None
    for number, line in enumerate(path.read_text().splitlines(), 1):
        heading = re.fullmatch(r"\[(\S+)\] (\w+): (.*)", line)
        if part is not None:
            if line == "===":
                part = new
            elif line == ">>>":
                old_text, new_text = ("".join(x + "\n" for x in lines) for lines in (old, new))
                mutations[-1].edits.append((place, old_text, new_text))
                part = None
            else:
                part.append(line)
        elif heading:
            mutations.append(Mutation(*heading.groups()))
            if mutations[-1].area not in AREAS:
                sys.exit(f"{path}:{number}: no area {mutations[-1].area}; there are {', '.join(AREAS)}")
        elif line.startswith("equivalent: "):
            mutations[-1].equivalent = line.split(" ", 1)[1]
        elif line == "<<<":
            old, new = [], []
            part = old
        elif line and not line.startswith("#"):
            place = line
    return mutations


def run(root, *command):
    """The command's exit code and what it said."""
    environment = {**os.environ, "WERROR": ""}
    done = subprocess.run(command, cwd=root, env=environment, stdin=subprocess.DEVNULL, text=True,
                          stdout=subprocess.PIPE, stderr=subprocess.STDOUT, errors="replace")
    return done.returncode, done.stdout


def test(root, entry):
    """Who notices, of the tests or specs that [entry] of AREAS stands for, or None."""
    if entry.startswith("specs "):
        specs = [f"specs/{name}.yaml" for name in entry.split()[1:]]
        code, _ = run(root, "timeout", "600", "build/tmagen", "verify", "--device", "emu",
                      "--schedules", "1", *specs)
        return entry if code else None
    code, said = run(root, "env", f"ONLY={entry}", "make", "-s", "test")
    failed = re.findall(r"^FAIL (\S+)", said, re.M)
    if "0 passed, 0 failed" in said:  # no test has that name yet
        return None
    return failed[0] if failed else "make test" if code else None


def judge(root, mutation, quick):
    """Plants the mistake in the checkout at [root]; who notices, "" for nobody, or an error."""
    run(root, "git", "checkout", "-q", "--", ".")
    fault = mutation.plant(root)
    if fault:
        return "error: " + fault
    code, said = run(root, "make", "-s", "all", "programs")
    if code:
        return "the compiler"
    specs = sorted(str(x.relative_to(root)) for x in root.glob("specs/*.yaml"))
    if any(path.startswith(("templates/", "gen/")) for path, _, _ in mutation.edits):
        if run(root, "build/tmagen", "gen", *specs)[0]:
            return "tmagen gen"
    for entry in AREAS[mutation.area] + ([] if quick else ["."]):
        found = test(root, entry)
        if found:
            return found if is_sound(root, entry, found) else f"error: {found} fails anyway"
    return ""


sound = {}  # whether what noticed a mistake passes without any


def is_sound(root, entry, found):
    """Does [found] of [entry] pass where nothing is planted?"""
    if found not in sound:
        run(root, "git", "checkout", "-q", "--", ".")
        run(root, "make", "-s", "all", "programs")
        sound[found] = test(root, entry if entry.startswith("specs ") else found) is None
    return sound[found]


def checkout(number):
    """A scratch checkout of HEAD with a build folder of its own."""
    root = Path("build/mutate").resolve() / str(number)
    if not root.exists():
        subprocess.run(["git", "worktree", "add", "-q", "-f", "--detach", root, "HEAD"], check=True)
    head = subprocess.run(["git", "rev-parse", "HEAD"], check=True, capture_output=True, text=True)
    subprocess.run(["git", "reset", "-q", "--hard", head.stdout.strip()], cwd=root, check=True)
    return root


def main():
    parser = argparse.ArgumentParser(description=__doc__.split("\n", 1)[0])
    parser.add_argument("-j", type=int, default=1, metavar="N", help="checkouts side by side")
    parser.add_argument("--quick", action="store_true", help="only the tests of the area")
    parser.add_argument("pattern", nargs="*", help="ids or areas, as regular expressions")
    options = parser.parse_args()
    wanted = [m for m in read_mutations(Path("tests/mutations.txt"))
              if not options.pattern
              or any(re.fullmatch(p, m.name) or re.fullmatch(p, m.area) for p in options.pattern)]
    roots = Queue()
    for number in range(options.j):
        roots.put(checkout(number))

    def one(mutation):
        root = roots.get()
        try:
            return mutation, judge(root, mutation, options.quick)
        finally:
            roots.put(root)

    noticed = equivalent = bad = 0
    with ThreadPoolExecutor(options.j) as pool:
        for mutation, by in pool.map(one, wanted):
            if by.startswith("error: "):
                word, bad = by, bad + 1
            elif by:
                word, noticed = f"noticed by {by}", noticed + 1
            elif mutation.equivalent:
                word, equivalent = f"equivalent: {mutation.equivalent}", equivalent + 1
            else:
                word, bad = "SURVIVED", bad + 1
            print(f"{mutation.name:6} {mutation.area}: {mutation.what}: {word}", flush=True)
    print(f"{noticed} noticed, {equivalent} equivalent, {bad} survived")
    sys.exit(bad > 0)


if __name__ == "__main__":
    main()
