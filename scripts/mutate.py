#!/usr/bin/env python3
"""Plants the mistakes of tests/mutations.txt one at a time and asks whether any test notices.

Each is planted in a scratch checkout of HEAD below the build folder, which is built, its out/
regenerated, and tested: first by the test that noticed it the last time, then by those that noticed
others of the same files, by those of the mistake's area, and by all, up to the first that notices.
That one's name is written into tests/mutations.txt. What no test notices must be marked as
equivalent there, with the reason; every other survivor makes the exit code 1. A test that cannot
run on this machine notices nothing, and is named. The last line is the sum over the whole file.

usage: scripts/mutate.py [-j N] [--quick] [--open] [--first TEST] [PATTERN...]
  PATTERN: mistakes whose id or area match, else all
  --quick: only the tests of the area
  --open: only mistakes that have no verdict yet
  --first TEST: runs this one before all others
  --sum: judges nothing
"""
import argparse
import functools
import os
import re
import signal
import subprocess
import sys
from collections import Counter
from concurrent.futures import ThreadPoolExecutor, as_completed
from contextlib import suppress
from pathlib import Path
from queue import Queue
from threading import Lock

FILE = Path("tests/mutations.txt")

# What is run, in this order: tests by the name that tests/run_tests.sh gives them, or a pattern of
# several; and specs to verify on the emulator.
AREAS = {
    "gemm": ["specs/gemm_phase1", "specs/gemm_phase6", "specs/gemm_64x32", "specs/gemm_16x64*",
             "specs/gemm_128x192_bias", "cli.gemm_ops", "specs/gemm_phase5",
             "unit.runtime.test_[wl]i", "cli.emu_unshipped", "specs/gemm_*", "cli.profile",
             "cli.pairwise", "cli.emu_blackwell"],
    "deform": ["specs/deform_attn_phase1", "specs/deform_attn_phase5", "specs/deform_attn_phase10",
               "specs/deform_*", "unit.runtime.test_[wl]i", "cli.emu_unshipped", "cli.profile",
               "cli.pairwise"],
    "resample": ["specs/resample_phase3", "specs/resample_persistent", "specs/resample_odd",
                 "specs/resample_*", "unit.runtime.test_[wl]i", "cli.emu_unshipped", "cli.profile",
                 "cli.pairwise"],
    "quantise": ["specs/quantise_*", "unit.runtime.test_[wl]i", "cli.profile", "cli.pairwise"],
    "ptx": ["specs/gemm_phase6", "specs/deform_attn_phase10", "specs/resample_persistent",
            "cli.gemm_ops", "specs/*_phase*", "cli.profile"],
    "emu": ["unit.emu.test_emu_rules", "unit.emu.test_emu_[efghimnpstw]", "cli.emu_vectors",
            "unit.runtime.test_device_emu", "unit.emu", "cases/emulate", "cli.emu_reports",
            "cli.rooms"],
    "gen": ["unit.gen", "tests/cases", "cli.check_out", "cli.out_pair", "cli.gen",
            "cli.own_family"],
    "cache": ["unit.runtime.test_cache", "unit.runtime.test_[ek]", "cli.cache"],
    "launch": ["unit.runtime.test_[lrgsmk]", "unit.runtime"],
    "measure": ["unit.measure", "cli.bench", "cli.verify", "cli.ladder", "cli.tune", "cli.tune_db",
                "cli.own_family", "cli.gemm_bytes"],
}


class Mutation:
    """A mistake: [edits] are (file, old, new), and old stands once in its file."""

    def __init__(self, name, area, what):
        self.name, self.area, self.what = name, area, what
        self.edits, self.equivalent, self.noticed = [], None, None

    def plant(self, root, write=True):
        """Why it cannot be planted, or None when it is."""
        texts = {}
        for path, old, new in self.edits:
            file = root / path
            text = texts.get(path) or "\n" + (file.read_text() if file.exists() else "")
            there = text.count("\n" + old)
            if there != 1:
                return f"{path}: the text to replace is there {there} times"
            texts[path] = text.replace("\n" + old, "\n" + new)
        for path, text in texts.items() if write else ():
            (root / path).write_text(text[1:])
        return None

    def files(self):
        return {path for path, _, _ in self.edits}

    def tests(self, first, neighbours, quick):
        """What to run, [first] first if it is not None; [neighbours] noticed others of the same
        files. Of a template no golden file is asked: it shows the edited text alone."""
        listed = AREAS[self.area]
        if self.name.startswith("P"):  # right but slow
            listed = ["cli.profile"] + listed
        if not quick:
            template = all(path.startswith("templates/") for path in self.files())
            listed = listed + ["tests/unit", "tests/cli"] + ([] if template else ["tests/cases"])
        return list(dict.fromkeys(x for x in [first, self.noticed, *neighbours] + listed if x))


def read_mutations():
    """tests/mutations.txt says at its top how it is written."""
    mutations, part, place = [], None, None
    for number, line in enumerate(FILE.read_text().splitlines(), 1):
        heading = re.fullmatch(r"\[(\S+)\] (\w+): (.*)", line)
        if part is not None:
            if line == "===":
                part = new
            elif line == ">>>":
                old_text, new_text = ("".join(x + "\n" for x in lines) for lines in (old, new))
                mutations[-1].edits.append((place, old_text, new_text))
                part = None
            elif line == "<<<":
                sys.exit(f"{FILE}:{number}: the one before has no end")
            else:
                part.append(line)
        elif heading:
            mutations.append(Mutation(*heading.groups()))
            if mutations[-1].area not in AREAS:
                sys.exit(f"{FILE}:{number}: the areas are {', '.join(AREAS)}")
        elif line.startswith("equivalent: "):
            mutations[-1].equivalent = line.split(" ", 1)[1]
        elif line.startswith("noticed: "):
            mutations[-1].noticed = line.split(" ", 1)[1]
        elif line == "<<<":
            old, new = [], []
            part = old
        elif line and not line.startswith("#"):
            if " " in line:
                sys.exit(f"{FILE}:{number}: neither a heading nor a path")
            place = line
    return mutations


def write_verdict(mutation, noticed):
    """Who notices [mutation] now, behind its heading; None for nobody."""
    heading = re.escape(f"[{mutation.name}] {mutation.area}: {mutation.what}\n")
    line = f"noticed: {noticed}\n" if noticed else ""
    FILE.write_text(re.sub(f"^({heading})(noticed: .*\n)?", lambda found: found[1] + line,
                           FILE.read_text(), flags=re.M))


def run(root, *command, **more):
    """The command's exit code and what it said."""
    environment = {**os.environ, "WERROR": "", **more}
    done = subprocess.run(command, cwd=root, env=environment, stdin=subprocess.DEVNULL, text=True,
                          stdout=subprocess.PIPE, stderr=subprocess.STDOUT, errors="replace")
    return done.returncode, done.stdout


def test_specs(root, names):
    """The first of the specs that does not verify, or None."""
    run(root, "make", "-s", "build/tmagen")
    for name in names:
        if run(root, "timeout", "300", "build/tmagen", "verify", "--device", "emu", "--schedules",
               "1", f"specs/{name}.yaml", TMAGEN_CACHE=str(root / "build/specs_cache"))[0]:
            return f"specs/{name}"
    return None


def test_profiles(root, names):
    """Whether one of the specs costs something else than the record says; tables' kernels have no
    record."""
    run(root, "make", "-s", "build/tmagen")
    record = (root / "tests/emu/profiles.txt").read_text()
    for name in [x for x in names if re.search(f"^{x} ", record, re.M)]:
        _, said = run(root, "timeout", "300", "build/tmagen", "profile", "--ptx",
                      f"specs/{name}.yaml", TMAGEN_CACHE=str(root / "build/specs_cache"))
        if said not in record:
            return "cli.profile"
    return None


def test(root, entry, changed):
    """Who notices, of the tests or the specs that [entry] of AREAS stands for, or None. Of the
    specs only those that the mistake has [changed] are asked; None: all."""
    if entry.startswith("specs/"):
        names = sorted(x.stem for x in root.glob(entry + ".yaml"))
        return test_specs(root, [x for x in names if changed is None or x in changed])
    if entry == "cli.profile" and changed is not None:
        return test_profiles(root, sorted(changed))
    # Of the programs only those that the entry needs: a change of the library relinks them all.
    units = [f"build/{x.relative_to(root).with_suffix('')}" for x in root.glob("tests/unit/*/*.c")]
    wanted = [x for x in units if re.search(entry, x)]
    if run(root, "make", "-s", *helpers(root, entry, wanted), *wanted)[0]:
        return "compiler"
    return run_tests(root, entry, wanted)


def end(tests):
    """Ends a run, which removes its scratch folder; by force what has not ended a while later."""
    os.killpg(tests.pid, signal.SIGTERM)
    with suppress(subprocess.TimeoutExpired):
        tests.wait(20)
    with suppress(ProcessLookupError):
        os.killpg(tests.pid, signal.SIGKILL)


def run_tests(root, only, units):
    """The first test that fails, at which the others end; or None."""
    environment = {**os.environ, "BUILD": "build", "ONLY": only, "NVRTC": nvrtc(),
                   "TEST_SECONDS": "400"}
    with subprocess.Popen(["tests/run_tests.sh", *units], cwd=root, env=environment,
                          stdin=subprocess.DEVNULL, stdout=subprocess.PIPE, text=True,
                          stderr=subprocess.STDOUT, errors="replace",
                          start_new_session=True) as tests:
        for line in tests.stdout:
            failed = re.match(r"FAIL (\S+)", line)
            if failed:
                end(tests)
                return failed[1].removesuffix(".sh")
            say_skipped(line)
    return None


skipped = set()  # tests that could not run here, and so noticed nothing


def say_skipped(line):
    """Says of a test that was skipped, by its [line], that it cannot notice; once."""
    found = re.match(r"SKIP (\S+)|\S+ +(\S+) \(.*, \d+ skipped\)", line)
    name = found and (found[1] or found[2])
    if name and name not in skipped:
        skipped.add(name)
        print(f"SKIPPED, and so cannot notice: {line.strip()}", flush=True)


def helpers(root, entry, units):
    """What the tests of [entry] need besides the [units] among them: a script names it, or what it
    sources does. Without NVRTC's finder a script would be skipped, and notice nothing."""
    scripts = "".join(x.read_text() for x in root.glob("tests/cli/*.sh")
                      if re.search(entry, str(x.relative_to(root))))
    sourced = set(re.findall(r"^\. (tests/\S+\.(?:ba)?sh)$", scripts, flags=re.M))
    scripts += "".join((root / x).read_text() for x in sorted(sourced))
    named = re.findall(r"\$BUILD/(vectors|internal\.a|tests/\w+\b(?!/)|scripts/find_nvrtc)", scripts)
    return ["build/tmagen", *(f"build/{x}" for x in set(named)),
            *(["all"] if "libtmagen" in scripts or "make " in scripts else []),
            *(fakes(root) if units or "fixtures/fake" in scripts else [])]


def fakes(root):
    """The stand-ins that unit tests load."""
    return [f"build/{x.relative_to(root).with_suffix('.so')}"
            for x in root.glob("tests/fixtures/fake/*.c")]


@functools.cache
def nvrtc():
    """The library's path where it must be named, as the Makefile asks for it."""
    run(".", "make", "-s", "build/scripts/find_nvrtc")
    return run(".", "scripts/nvrtc.sh", "build/scripts/find_nvrtc", "build/nvrtc")[1].strip()


def judge(root, mutation, entries):
    """Plants the mistake in the checkout at [root]; who notices of [entries], "" for nobody, or an
    error."""
    run(root, "git", "checkout", "-q", "--", ".")
    fault = mutation.plant(root)
    if fault:
        return "error: " + fault
    if run(root, "make", "-s", "build/tmagen")[0]:
        return "compiler"
    changed = None
    if any(path.startswith(("templates/", "gen/")) for path in mutation.files()):
        specs = sorted(str(x.relative_to(root)) for x in root.glob("specs/*.yaml"))
        if run(root, "build/tmagen", "gen", *specs)[0]:
            return "gen"
    if all(path.startswith("templates/") and "reference" not in path
           for path in mutation.files()):
        _, said = run(root, "git", "diff", "--name-only", "out")
        changed = {Path(x).stem for x in said.split()}
    # A mistake that changes no shipped kernel may be in a check, which cases show.
    for entry in entries + (["tests/cases"] if changed == set() else []):
        if entry in ("compiler", "gen"):
            continue
        found = test(root, entry, changed)
        if found:
            return found if is_sound(found, changed) else f"error: {found} fails anyway"
    return ""


sound = {}  # whether what noticed a mistake passes without any
sound_lock = Lock()


def is_sound(found, changed):
    """Does [found] pass in a checkout in which nothing is planted?"""
    with sound_lock:
        if found not in sound:
            sound[found] = test(checkout("sound"), found, changed) is None
        return sound[found]


def checkout(name):
    """A scratch checkout of HEAD with a build folder of its own."""
    root = Path("build/mutate").resolve() / name
    if not root.exists():
        subprocess.run(["git", "worktree", "add", "-q", "-f", "--detach", root, "HEAD"], check=True)
    head = subprocess.run(["git", "rev-parse", "HEAD"], check=True, capture_output=True, text=True)
    subprocess.run(["git", "reset", "-q", "--hard", head.stdout.strip()], cwd=root, check=True)
    return root


def who_noticed(mutations, files):
    """The three that noticed the most mistakes in [files]; but scripts, which are slow."""
    count = Counter(m.noticed for m in mutations
                    if m.noticed and not m.noticed.startswith("cli.") and m.files() & files)
    return [noticed for noticed, _ in count.most_common(3)]


def judge_all(wanted, mutations, jobs, first, quick):
    """Judges, says and writes each verdict; how many survived or could not be judged."""
    roots, bad = Queue(), 0
    for number in range(jobs):
        roots.put(checkout(str(number)))

    def one(mutation):
        root = roots.get()
        try:
            neighbours = who_noticed(mutations, mutation.files())
            return mutation, judge(root, mutation, mutation.tests(first, neighbours, quick))
        finally:
            roots.put(root)

    with ThreadPoolExecutor(jobs) as pool:
        for done in as_completed([pool.submit(one, mutation) for mutation in wanted]):
            mutation, by = done.result()
            if by.startswith("error: "):
                word, bad = by, bad + 1
            elif by:
                word, mutation.noticed = f"noticed by {by}", by
                write_verdict(mutation, by)
            elif mutation.equivalent:
                word = f"equivalent: {mutation.equivalent}"
            else:
                word, bad = "SURVIVED" + (f", but skipped: {' '.join(sorted(skipped))}"
                                          if skipped else ""), bad + 1
                write_verdict(mutation, None)
            print(f"{mutation.name:6} {mutation.area}: {mutation.what}: {word}", flush=True)
    return bad


def print_sum():
    """How many cannot be planted, each with why."""
    mutations = read_mutations()
    faults = 0
    for mutation in mutations:
        fault = mutation.plant(Path(), write=False)
        if fault:
            faults += 1
            print(f"{mutation.name:6} {mutation.area}: cannot be planted: {fault}")
    equivalent = sum(bool(m.equivalent) for m in mutations)
    noticed = sum(bool(m.noticed and not m.equivalent) for m in mutations)
    real = len(mutations) - equivalent
    print(f"{len(mutations)} mistakes: {noticed} noticed, {equivalent} equivalent,"
          f" {real - noticed} open: {100 * noticed / real:.1f} % of those that matter are noticed")
    return faults


def main():
    parser = argparse.ArgumentParser(description=__doc__.split("\n", 1)[0])
    parser.add_argument("-j", type=int, default=1, metavar="N", help="checkouts side by side")
    parser.add_argument("--quick", action="store_true", help="only the tests of the area")
    parser.add_argument("--open", action="store_true", help="only those without a verdict")
    parser.add_argument("--first", metavar="TEST", help="run before all others")
    parser.add_argument("--sum", action="store_true", help="judge nothing")
    parser.add_argument("pattern", nargs="*", help="ids or areas, as regular expressions")
    options = parser.parse_args()
    mutations = read_mutations()
    wanted = [m for m in mutations if not options.sum
              and not (options.open and (m.noticed or m.equivalent))
              and (not options.pattern or any(re.fullmatch(p, m.name) or re.fullmatch(p, m.area)
                                              for p in options.pattern))]
    bad = judge_all(wanted, mutations, options.j, options.first, options.quick) if wanted else 0
    faults = print_sum()
    sys.exit(bad + faults > 0)


if __name__ == "__main__":
    main()
