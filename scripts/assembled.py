#!/usr/bin/env python3
"""What the assembler makes of the shipped kernels, a line each: the registers, the bytes of stack and
the bytes of spills of a thread, and how many R2UR stand between the first wgmma and the last: moves
of a descriptor from the registers of lanes that the assembler thinks may differ, for which the next
wgmma waits. Of the same PTX it makes the same: only kernels whose PTX LIST does
not have are assembled, within the budgets that their specs state.

usage: scripts/assembled.py LIST FOLDER             prints it
       scripts/assembled.py LIST FOLDER --check     holds it against LIST (tests/emu/assembled.txt);
                                                    exit 1 where it differs, but by the compiler

LIST is an earlier output, or empty. FOLDER gets the PTX. $TMAGEN is the program, $TMAGEN_CACHE its
cache. `make profile` renews the list, by hand and in review. Its first line names the compiler of
all others, and they the kernel, its architecture and a digest of the PTX.
"""

import difflib
import hashlib
import os
import pathlib
import re
import struct
import subprocess
import sys

PROGRAM = os.environ["TMAGEN"]
IN_FP16 = "gemm_fp16_h200"   # a table of kernels that stand in bf16 already


def run(*words):
    done = subprocess.run([PROGRAM, *words], stdout=subprocess.PIPE, text=True, check=False)
    if done.returncode:
        sys.exit(done.stdout + f"{PROGRAM}: exit {done.returncode}")
    return done.stdout


def digest(ptx):
    """Of what the assembler's code comes from: without lines and names, which debuggers read."""
    code = re.sub(r"^\s*\.(loc|file)\b.*\n", "", ptx.split("\n\t.section")[0], flags=re.MULTILINE)
    return hashlib.sha256(code.encode()).hexdigest()[:16]


def generate(specs, folder, *setting):
    """The compiler, and by each kernel's name, architecture and digest the setting that gives it."""
    found, compiler = {}, None
    run("gen", "--ptx", "-o", str(folder), *setting, *map(str, specs))
    for path in sorted(folder.glob("*.ptx")):
        ptx = path.read_text()
        compiler = re.search(r"// (Compiler Build ID: .*)", ptx)[1]
        found[path.stem, re.search(r"\.target (\w+)", ptx)[1], digest(ptx)] = setting
    return compiler, found


# Low twelve bits of an instruction's sixteen bytes, as cuobjdump -sass has them: HGMMA, IGMMA, QGMMA.
WGMMA, R2UR = (0x9F0, 0x9F1, 0x9F3), 0x2CA


def moves_among_wgmma(cubin):
    """Of all code sections of an ELF file; None where there is no wgmma."""
    sections, = struct.unpack_from("<Q", cubin, 0x28)
    size, count, names = struct.unpack_from("<3H", cubin, 0x3A)
    rows = [struct.unpack_from("<IIQQQQ", cubin, sections + i * size) for i in range(count)]
    moves = None
    for name, _, _, _, begin, length in rows:
        if not cubin.startswith(b".text.", rows[names][4] + name):
            continue
        codes = [word & 0xFFF for word, _ in struct.iter_unpack("<Q8s", cubin[begin:begin + length])]
        places = [i for i, code in enumerate(codes) if code in WGMMA]
        if places:
            moves = (moves or 0) + codes[places[0]:places[-1]].count(R2UR)
    return moves


def assemble(specs, folder, setting):
    """Lines by kernel. The budgets are held to here."""
    said, name = {}, None
    for line in run("-o", str(folder), *setting, *map(str, specs)).splitlines():
        word, *rest = line.split()
        if not line.startswith(" "):
            name = word
            said[name] = {"registers": "0", "stack": "0", "spills": "0"}
        elif word in said[name]:
            said[name][word] = rest[0]
    bundle = folder / "all.tmagen"
    run("bundle", "-o", str(bundle), *setting, *map(str, specs))
    run("bundle", "extract", "-o", str(folder), str(bundle))
    for name, row in said.items():
        moves = moves_among_wgmma(next(folder.glob(f"{name}.*.cubin")).read_bytes())
        row["moves"] = "" if moves is None else f", {moves} moves among wgmma"
    return {name: "{registers} registers, {stack} bytes of stack, {spills} of spills{moves}".format(**row)
            for name, row in said.items()}


def main():
    record, folder = pathlib.Path(sys.argv[1]), pathlib.Path(sys.argv[2])
    lines = record.read_text().splitlines() if record.exists() else []
    first = lines.pop(0) if lines else ""
    all_specs = sorted(x for x in pathlib.Path("specs").glob("*.yaml") if x.stem != IN_FP16)
    blackwell = [x for x in all_specs if "sm100" in x.stem]
    compiler, kernels = generate(all_specs, folder / "own")
    _, second = generate(blackwell, folder / "sm_103a", "--set", "arch=sm_103a")
    kernels.update(second)
    known = {tuple(line.split(":")[0].split()): line for line in lines if first == compiler}
    result = {key: known[key] for key in kernels if key in known}
    for setting in sorted(set(kernels.values())):
        open_ones = {key for key in kernels if kernels[key] == setting and key not in known}
        specs = [x for x in all_specs if any(x.stem == key[0] for key in open_ones)]
        if {x.stem for x in specs} < {key[0] for key in open_ones}:
            specs += [x for x in all_specs if x.stem.endswith("_h200")]
        said = assemble(specs, folder / "assembled", setting) if specs else {}
        for key in open_ones:
            result[key] = f"{' '.join(key)}: {said[key[0]]}"
    now = [compiler] + [result[key] for key in sorted(result)]
    if len(sys.argv) == 3:
        print("\n".join(now))
        return
    if first != compiler:
        print(f"{record} is of {first}, this is {compiler}")
        return
    changes = list(difflib.unified_diff([first, *lines], now, str(record), "now", lineterm=""))
    print("\n".join(changes))
    sys.exit(bool(changes))


if __name__ == "__main__":
    main()
