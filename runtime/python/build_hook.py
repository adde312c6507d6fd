"""Hatchling's hook: runs make, and puts what an installed package needs beside its modules.

The wheel holds libtmagen.so and the program tmagen, in which the templates are, stripped, and the
shipped kernels and specs. Both need the C library alone, so that any Python 3 of a Linux with a
glibc as new as their newest symbol can use it: the wheel's tag says which.
"""

import glob
import os
import platform
import re
import shutil
import subprocess
import tempfile

from hatchling.builders.hooks.plugin.interface import BuildHookInterface


def _make(root: str, build: str) -> None:
    inherited = {k: v for k, v in os.environ.items() if k not in ("MAKEFLAGS", "MFLAGS")}
    jobs = str(os.cpu_count() or 1)
    subprocess.run(
        ["make", "-s", "-j", jobs, f"BUILD={build}", "all"], cwd=root, env=inherited, check=True
    )


def _stripped(path: str, to: str) -> str:
    shutil.copy(path, to)
    subprocess.run(["strip", "--strip-unneeded", to], check=True)
    return to


def _tag(paths: list[str]) -> str:
    """py3-none-manylinux_2_N_ARCH, N being the newest glibc of which a symbol is needed."""
    minors = [0]
    for path in paths:
        told = subprocess.run(["objdump", "-T", path], check=True, capture_output=True, text=True)
        minors += map(int, re.findall(r"GLIBC_2\.(\d+)", told.stdout))
        needed = subprocess.run(["objdump", "-p", path], check=True, capture_output=True, text=True)
        for name in re.findall(r"NEEDED +(\S+)", needed.stdout):
            if not re.match(r"(libc|libm|libdl|libpthread|ld-linux[-\w]*)\.so\.\d+$", name):
                raise SystemExit(f"{path} needs {name}; a wheel must need the C library alone")
    return f"py3-none-manylinux_2_{max(minors)}_{platform.machine()}"


class BuildHook(BuildHookInterface):
    """What hatchling calls."""

    def initialize(self, version: str, build_data: dict) -> None:
        """Before the wheel is written; an editable one uses the tree's own files."""
        build = os.environ.get("BUILD") or "build"
        _make(self.root, build)
        build = os.path.join(self.root, build)
        self._folder = tempfile.mkdtemp(prefix="tmagen-wheel-")
        made = {
            name: _stripped(os.path.join(build, name), os.path.join(self._folder, name))
            for name in ("libtmagen.so", "tmagen")
        }
        build_data["pure_python"] = False
        build_data["tag"] = _tag(list(made.values()))
        if version == "editable":
            return
        include = build_data["force_include"]
        include[made["libtmagen.so"]] = "tmagen/libtmagen.so"
        include[made["tmagen"]] = "tmagen/bin/tmagen"
        for pattern, folder in (("out/*.json", "kernels"), ("out/*.cu", "kernels"),
                                ("specs/*.yaml", "specs")):
            for path in sorted(glob.glob(os.path.join(self.root, pattern))):
                include[path] = f"tmagen/{folder}/{os.path.basename(path)}"

    def finalize(self, version: str, build_data: dict, artifact_path: str) -> None:
        """After it is written."""
        del version, build_data, artifact_path
        shutil.rmtree(self._folder, ignore_errors=True)
