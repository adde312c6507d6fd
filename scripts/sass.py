#!/usr/bin/env python3
"""What the assembler made of the specs for Blackwell: a line a kernel, as tests/emu/sass.txt has it.

    CUOBJDUMP=.../cuobjdump scripts/sass.py > tests/emu/sass.txt     (CUDA's, or that of Triton's wheel)

Emulator and NVRTC know registers and spills; only the disassembly says what became of an instruction.
"""
import collections
import glob
import os
import re
import subprocess
import tempfile

CUOBJDUMP = os.environ.get("CUOBJDUMP", "cuobjdump")
ARCHS = ("sm_100a", "sm_103a")
# What the columns count: the kinds of MMA, and what moves to and from tensor and shared memory.
COUNTED = ("UTCHMMA", "UTCQMMA", "UTCOMMA", "UTCIMMA", "UTCCP", "LDTM", "STTM", "UTMALDG", "UTMASTG", "UTCBAR",
           "LDL", "STL")
INSTRUCTION = re.compile(r"^\s+/\*[0-9a-f]{4,}\*/\s+(?:@!?U?P\w+\s+)?([A-Z0-9_]+)", re.M)


def run(*command):
    return subprocess.run(command, check=True, capture_output=True, text=True).stdout


def facts(cubin):
    usage = run(CUOBJDUMP, "-res-usage", cubin)
    counts = collections.Counter(INSTRUCTION.findall(run(CUOBJDUMP, "-sass", cubin)))
    registers, stack = re.search(r"REG:(\d+) STACK:(\d+)", usage).groups()
    words = [f"{name} {counts[name]}" for name in COUNTED if counts[name]]
    return f"{registers} registers, {stack} bytes of stack, {sum(counts.values())} instructions: " + ", ".join(words)


def main():
    specs = sorted(glob.glob("specs/*sm100*.yaml"))
    for arch in ARCHS:
        with tempfile.TemporaryDirectory() as folder:
            bundle = os.path.join(folder, "all.tmagen")
            run("build/tmagen", "bundle", f"--for={arch}", "-o", bundle, *specs)
            run("build/tmagen", "bundle", "extract", "-o", folder, bundle)
            for cubin in sorted(glob.glob(os.path.join(folder, "**", "*.cubin"), recursive=True)):
                print(f"{arch} {os.path.basename(cubin).split('.')[0]}: {facts(cubin)}")


if __name__ == "__main__":
    main()
