#!/usr/bin/env python3
"""The binary interface of libtmagen, a line each: sizes and offsets of structs, values of enums and
macros, and what is exported, with its version and prototype.

usage: scripts/abi.py LIBRARY          prints it
       scripts/abi.py LIBRARY LIST     holds it against LIST (runtime/tmagen.abi); exit 1 if it differs

What is gone or different breaks programs that are there: the library then needs another soname.
What is new does not, nor does a struct with more members at its end. Either way `make abi` renews
the list, by hand and in review.
"""

import difflib
import glob
import os
import re
import subprocess
import sys
import tempfile

HEADERS = sorted(glob.glob("runtime/tmagen*.h"))


def read_headers():
    text = "".join(open(header, encoding="ascii").read() for header in HEADERS)
    return re.sub(r"/\*.*?\*/", " ", text, flags=re.DOTALL)


def one_line(text):
    return re.sub(r"\s*([(),;*\[\]])\s*", r"\1", re.sub(r"\s+", " ", text)).strip()


def members(body):
    """(type, name) of each; 'const char *a, *b' is two."""
    for declaration in filter(None, (one_line(part) for part in body.split(";"))):
        first, *more = declaration.split(",")
        kind, stars, name, room = re.fullmatch(r"(.*?)(\**)(?<=[ *])(\w+)((?:\[\w+\])*)", first).groups()
        yield kind.strip() + stars + room, name
        for other in more:
            stars, name, room = re.fullmatch(r"(\**)(\w+)((?:\[\w+\])*)", other).groups()
            yield kind.strip() + stars + room, name


def probe(text):
    """C that prints what only a compiler knows: lines of 'FORMAT', VALUE."""
    for name, body in re.findall(r"typedef struct (\w+) \{(.*?)\} \w+;", text, flags=re.DOTALL):
        yield f"struct {name}: %lld bytes", f"sizeof({name})"
        for kind, member in members(body):
            yield f"    %lld {member}: {kind}", f"offsetof({name}, {member})"
    for body in re.findall(r"enum (?:\w+ )?\{(.*?)\}", text, flags=re.DOTALL):
        for name in re.findall(r"(TMAGEN_\w+)\s*(?:=|,|$)", body):
            yield f"{name} = %lld", name
    for name in re.findall(r"#define (TMAGEN_\w+_SIZES)", text):
        yield f"{name} = 0x%llx", name


def evaluate(rows):
    lines = "".join(f'    printf("{form}\\n", (long long)({value}));\n' for form, value in rows)
    source = f'#include <stdio.h>\n#include "runtime/tmagen.h"\nint main(void) {{\n{lines}}}\n'
    with tempfile.TemporaryDirectory() as folder:
        path = os.path.join(folder, "probe")
        with open(path + ".c", "w", encoding="ascii") as file:
            file.write(source)
        compiler = os.environ.get("CC", "cc").split()
        subprocess.run([*compiler, "-I.", "-o", path, path + ".c"], check=True)
        return subprocess.run([path], check=True, stdout=subprocess.PIPE, text=True).stdout


def exports(text, library):
    prototypes = {
        re.search(r"(\w+)\(", declaration).group(1): declaration
        for declaration in map(one_line, re.findall(r"^TMAGEN_API ([^;]*;)", text, flags=re.MULTILINE))
    }
    command = ["nm", "-D", "--defined-only", "--with-symbol-versions", library]
    said = subprocess.run(command, check=True, stdout=subprocess.PIPE, text=True).stdout
    for _, kind, symbol in (line.split() for line in said.splitlines()):
        name = symbol.split("@")[0]
        if kind != "A":
            yield f"{symbol}: {prototypes.pop(name, 'is in no header')}"
    for name, declaration in sorted(prototypes.items()):
        yield f"{name}: is not exported: {declaration}"


def main():
    text = read_headers()
    listing = evaluate(probe(text)) + "".join(f"{line}\n" for line in exports(text, sys.argv[1]))
    if len(sys.argv) < 3:
        print(listing, end="")
        return 0
    with open(sys.argv[2], encoding="ascii") as file:
        known = file.read()
    changes = [
        line
        for line in difflib.unified_diff(known.splitlines(), listing.splitlines(), lineterm="", n=0)
        if not line.startswith(("---", "+++", "@@"))
    ]
    if not changes:
        return 0
    print(*changes, sep="\n")
    gone = any(re.match(r"-(?!struct |TMAGEN_\w+_SIZES )", line) for line in changes)
    print("what is gone or different breaks programs: another soname, then make abi" if gone
          else "new, and breaks nothing: make abi")
    return 1


if __name__ == "__main__":
    sys.exit(main())
