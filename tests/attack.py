#!/usr/bin/env python3
"""Damages what tmagen reads, of every kind, and looks at what comes of it.

Whatever the bytes are, a command ends by itself, soon, with one of its exit codes, says little, and
prints nothing that a terminal would take for more than letters. Kinds: launch files, PTX, NumPy's
arrays, manifests, specs, dispatch tables, files of shapes, of rates, and databases of tunings.

usage: tests/attack.py [--seed N] [--rounds N] [-j N] [KIND...]
  --seed: what is drawn, by which each failure can be had again (default: 1)
  --rounds: damaged inputs of each kind (default: 100)
Failures are kept below $TMPDIR/attack, each a folder with its command.
"""
import argparse
import os
import random
import re
import resource
import shlex
import shutil
import sqlite3
import subprocess
import sys
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

TMAGEN = os.path.abspath(os.environ.get("TMAGEN", "build/tmagen"))
EXAMPLE = os.path.abspath(os.environ.get("BUILD", "build") + "/tests/example")
ROOT = Path(os.environ.get("TMPDIR", "/tmp")) / "attack"
SECONDS, OUTPUT, FILE = 60, 1 << 20, 1 << 26
CODES = (0, 1, 2, 3)

# What numbers and words become, and what is put in between.
EXTREMES = [b"0", b"-1", b"2147483648", b"9223372036854775807", b"18446744073709551616", b"1e999",
            b"-1e-400", b"nan", b"0x10", b"true", b"null", b"~", b"[]", b"{}", b"''", b"../../x",
            b"/dev/zero", b"\x00", b"\x1b[2J", b"\xff\xfe", "\u202e\u00e9".encode(), b"&a", b"*a",
            b"\n", b"\t", b"- ", b": ", b"%s%n", b"a" * 5000, b"9" * 400, b"{" * 200, b"x" * 64]

# Kind: the files that are damaged, what lies beside them, and the command. {} is the damaged one.
KINDS = {
    "spec": (["specs/gemm_64x64.yaml", "specs/resample_phase2.yaml", "specs/quantise_phase0.yaml",
              "specs/deform_attn_phase1.yaml"], [], f"{TMAGEN} gen -o out {{}}"),
    "table": (["tests/cases/dispatch/table/spec.yaml"], ["tests/cases/dispatch/table/small.yaml",
              "tests/cases/dispatch/table/split.yaml"], f"{TMAGEN} gen -o out {{}}"),
    "shapes": ([ROOT / "shapes.txt"], ["specs/gemm_64x64.yaml"],
               f"{TMAGEN} explain gemm_64x64.yaml --shapes {{}}"),
    "rates": (["templates/lib/gpus/nvidia_h200.json"], ["specs/gemm_64x64.yaml"],
              f"{TMAGEN} explain gemm_64x64.yaml --templates own --gpu mine --shape 64x64x64"),
    "manifest": (["out/gemm_64x64.json"], ["out/gemm_64x64.cu"],
                 f"env TMAGEN_KERNELS=. {EXAMPLE} emu gemm_64x64 8 8 8"),
    "launch": (["tests/cases/emulate/axpy/spec.yaml", "tests/cases/emulate/tensor_map/spec.yaml",
                "tests/cases/emulate/struct/spec.yaml"], ["tests/cases/emulate/axpy/axpy.ptx",
               "tests/cases/emulate/axpy/x.npy"],
               f"{TMAGEN} emulate --set max_seconds=5 --set max_memory=1000000000 -o out {{}}"),
    "ptx": (["tests/cases/emulate/axpy/axpy.ptx"], ["tests/cases/emulate/axpy/spec.yaml",
            "tests/cases/emulate/axpy/x.npy"], f"{TMAGEN} emulate --set max_seconds=5 -o out spec.yaml"),
    "npy": (["tests/cases/emulate/axpy/x.npy"], ["tests/cases/emulate/axpy/spec.yaml",
            "tests/cases/emulate/axpy/axpy.ptx"], f"{TMAGEN} emulate -o out spec.yaml"),
    "database": ([], [], ""),
}
ASKS = ["tune show {}", "tune table {}", "tune merge new.db {}", "tune error {}",
        "tune calibrate {}"]
SHAPES = "# of matrix products\nbf16 64 64 64\nbf16 4096 4096 512\n8 8 8\nbf16 264 136 72\n"
PLACES = {"rates": "own/lib/gpus/mine.json"}


def spoil(draw, data):
    """[data] after some damage."""
    for _ in range(draw.randint(1, 3)):
        at = draw.randrange(len(data) + 1)
        size = min(draw.choice([1, 2, 8, 64, 600]), len(data) - at)
        how = draw.randrange(7)
        if how == 0:  # bits
            data = data[:at] + bytes(x ^ 1 << draw.randrange(8) for x in data[at:at + 1]) + data[at + 1:]
        elif how == 1:
            data = data[:at] + data[at + size:]
        elif how == 2:
            data = data[:at] + data[at:at + size] * draw.choice([2, 3, 50]) + data[at + size:]
        elif how == 3:
            data = data[:at] + draw.choice(EXTREMES) + data[at:]
        elif how == 4 and draw.random() < .2:
            data = data[:at]
        else:  # a number or a word
            words = list(re.finditer(rb"[0-9]+" if how == 5 else rb"[A-Za-z_]+", data))
            if words:
                word = draw.choice(words)
                data = data[:word.start()] + draw.choice(EXTREMES) + data[word.end():]
    return data


def database(folder):
    """A whole database of a tuning: its tables by tmagen, its rows by hand."""
    path = folder / "whole.db"
    subprocess.run([TMAGEN, "tune", "merge", path, folder / "none.db"], check=False,
                   stderr=subprocess.DEVNULL)
    manifest = Path("out/gemm_64x64.json").read_text()
    with sqlite3.connect(path) as db:
        for i in range(12):
            key = f"{i:064x}"
            db.execute("INSERT INTO kernel VALUES (?, ?, 'gemm', 'sm_90a', '{kernel: gemm}', ?, '0.1.0',"
                       " 'NVRTC', 90, 0, 200.0, 'ok', 'all', NULL)", (key, f"k{i}", manifest))
            for n in range(6):
                ms = .01 * (i + n + 1)
                db.execute("INSERT INTO result VALUES ('NVIDIA H200', 'bf16', ?, ?, 0, 'ok', 1, 40, ?,"
                           " ?, ?, 1800, 500, 64, 0.1, NULL, 12080, '0.1.0', 1)",
                           (f"64x64x{64 << n}", key, ms, ms, ms))
    db.close()
    return path.read_bytes()


def spoil_rows(draw, path):
    """Damage by a hand that knows SQLite."""
    db = sqlite3.connect(path)
    try:
        columns = [(t, c[1]) for t in ("kernel", "result")
                   for c in db.execute(f"PRAGMA table_info({t})")]
        table, column = draw.choice(columns)
        db.execute("PRAGMA ignore_check_constraints = ON")
        db.execute(f"UPDATE OR IGNORE {table} SET {column} = ? WHERE rowid % 3 = ?",
                   (draw.choice([None, -1, 0, 1e308, 2**62, "", "a" * 5000, "\x1b[2J", "1x1x1}, {x",
                                 "9" * 40, "../x", "{" * 500, "ok"]), draw.randrange(3)))
        db.commit()
    except sqlite3.Error:
        pass
    db.close()


def limits():
    resource.setrlimit(resource.RLIMIT_FSIZE, (FILE, FILE))
    resource.setrlimit(resource.RLIMIT_CORE, (0, 0))


def prepare(kind, seed, folder, whole):
    """Puts the damaged input of [seed] and what lies beside it into the folder; the command. That
    of seed 0 is not damaged."""
    draw = random.Random(f"{kind} {seed}")
    files, beside, command = KINDS[kind]
    name = draw.choice(files) if files else "damaged.db"
    target = folder / PLACES.get(kind, Path(name).name)
    target.parent.mkdir(parents=True, exist_ok=True)
    (folder / "out").mkdir()
    for path in beside:
        shutil.copy(path, folder)
    if kind == "database":
        target.write_bytes(whole)
        if seed:
            spoil_rows(draw, target)
        if seed and draw.random() < .5:
            target.write_bytes(spoil(draw, target.read_bytes()))
        command = f"{TMAGEN} {draw.choice(ASKS)}"
    else:
        data = Path(name).read_bytes()
        target.write_bytes(spoil(draw, data) if seed else data)
    return command.format(target.name)


def fault(folder, command, codes):
    """What is wrong with how the command ends, or None."""
    environment = {**os.environ, "TMAGEN_CACHE": str(ROOT / "cache"), "LC_ALL": "C.UTF-8"}
    try:
        done = subprocess.run(shlex.split(command), cwd=folder, env=environment, timeout=SECONDS,
                              stdin=subprocess.DEVNULL, stdout=subprocess.PIPE,
                              stderr=subprocess.STDOUT, preexec_fn=limits)
    except subprocess.TimeoutExpired:
        return f"still runs after {SECONDS} s"
    if done.returncode not in codes:
        return f"exit code {done.returncode}: " + done.stdout[-600:].decode(errors="replace")
    if len(done.stdout) > OUTPUT:
        return f"prints {len(done.stdout)} bytes"
    odd = re.search(rb"[\x00-\x08\x0b-\x1f\x7f]", done.stdout)
    return f"prints {odd[0]!r}: {done.stdout[max(0, odd.start() - 80):odd.end() + 40]!r}" if odd else None


def attack(kind, seed, whole):
    folder = ROOT / f"{kind}_{seed}"
    folder.mkdir(parents=True)
    command = prepare(kind, seed, folder, whole)
    why = fault(folder, command, CODES if seed else (0,))
    if why is None:
        shutil.rmtree(folder)
    return why and f"FAILED {kind} {seed}: {why}\n  cd {folder} && {command}"


def main():
    parser = argparse.ArgumentParser(description=__doc__.split("\n", 1)[0])
    parser.add_argument("--seed", type=int, default=1, help="above 0")
    parser.add_argument("--rounds", type=int, default=100)
    parser.add_argument("-j", type=int, default=2, metavar="N", help="commands side by side")
    parser.add_argument("kind", nargs="*", choices=[*KINDS, []], help=", ".join(KINDS))
    options = parser.parse_args()
    shutil.rmtree(ROOT, ignore_errors=True)
    ROOT.mkdir(parents=True)
    (ROOT / "shapes.txt").write_text(SHAPES)
    whole, bad = database(ROOT), 0
    for kind in options.kind or KINDS:
        with ThreadPoolExecutor(options.j) as pool:
            seeds = [0, *range(options.seed, options.seed + options.rounds)]
            faults = [x for x in pool.map(lambda seed: attack(kind, seed, whole), seeds) if x]
        print("\n".join(faults + [f"{kind}: {options.rounds} damaged, {len(faults)} failed"]),
              flush=True)
        bad += len(faults)
    sys.exit(bad > 0)


if __name__ == "__main__":
    main()
