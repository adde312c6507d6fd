"""Specs with knobs to kernels: the program in the package generates, in 10 ms, what is asked for."""

import hashlib
import json
import os
import subprocess
import tempfile
from typing import Any

from . import _home
from ._error import ARGUMENT, FILE, Error


def _generate(spec: str, folder: str, templates: str | None) -> None:
    command = [_home.program(), "gen", "--output", folder, spec]
    if templates:
        command += ["--templates", templates]
    try:
        done = subprocess.run(
            command, capture_output=True, text=True, errors="replace", stdin=subprocess.DEVNULL
        )
    except OSError as error:
        raise Error(f"{command[0]}: {error.strerror}", FILE) from None
    if done.returncode:
        said = done.stderr.replace(os.path.dirname(spec) + os.sep, "").strip()
        raise Error(said or "the generator ended without a word", ARGUMENT)


def texts(name: str, base: str | None, knobs: dict[str, Any], templates: str | None):
    """The manifest and the source of the family [name], or of the spec [base], with [knobs].

    Returns (name, manifest, source). A kernel with knobs is called after what it came from and a
    digest of them.
    """
    spec = {"base": os.path.abspath(base)} if base else {"kernel": name}
    try:
        written = json.dumps({**spec, **knobs}, indent=1)
    except (TypeError, ValueError) as error:
        raise Error(f"{name}: knobs are numbers, strings, lists and dicts: {error}") from None
    stem = os.path.splitext(os.path.basename(name))[0]
    if knobs:
        digest = hashlib.sha256(json.dumps(knobs, sort_keys=True).encode()).hexdigest()
        stem += "_" + digest[:8]
    with tempfile.TemporaryDirectory(prefix="tmagen-") as folder:
        path = os.path.join(folder, stem + ".yaml")
        with open(path, "w", encoding="utf-8") as file:
            file.write(written + "\n")
        out = os.path.join(folder, "out")
        _generate(path, out, templates)
        made = [file for file in os.listdir(out) if file.endswith(".json")]
        if made != [stem + ".json"]:
            raise Error(f"{name}: makes {len(made)} kernels ({', '.join(sorted(made))}); legal: one")
        return (
            stem,
            _home.read(os.path.join(out, stem + ".json")),
            _home.read(os.path.join(out, stem + ".cu")),
        )
