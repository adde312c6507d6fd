"""Finding a kernel by its name, and handing it to the library."""

import ctypes
import os
from typing import Any

from . import _home
from ._error import ARGUMENT, FILE, Error
from ._kernel import Kernel
from ._library import (
    LOAD_SIZES,
    SET_COMPILE,
    SET_SIZES,
    LoadOptions,
    SetOptions,
    check,
    library,
)
from ._manifest import MANIFEST, Manifest

MODES = {"compile": 0, "fail": 1, "no_cache": 2}


class _Texts:
    """A kernel whose manifest and source are in memory."""

    is_set = False

    def __init__(self, name: str, manifest: bytes, source: bytes, mode: str, cache: str | None):
        self.name = name
        self._options = LoadOptions(
            mode=MODES[mode],
            cache_dir=os.fsencode(cache) if cache else None,
            manifest_text=manifest,
            source_text=source,
            manifest_bytes=len(manifest),
            source_bytes=len(source),
        )

    def load(self, device: int) -> int:
        handle = ctypes.c_void_p()
        check(
            library().tmagen_kernel_load_sized(
                device, self.name.encode(), self._options, LOAD_SIZES, ctypes.byref(handle)
            )
        )
        return handle.value


class _Table:
    """A dispatch table, beside which its kernels lie."""

    is_set = True

    def __init__(self, name: str, path: str, mode: str, cache: str | None) -> None:
        self.name, self._path = name, path
        self._options = SetOptions(
            flags=SET_COMPILE if mode == "compile" else 0,
            cache_dir=os.fsencode(cache) if cache else None,
        )

    def load(self, device: int) -> int:
        handle = ctypes.c_void_p()
        check(
            library().tmagen_set_open_sized(
                device, os.fsencode(self._path), self._options, SET_SIZES, ctypes.byref(handle)
            )
        )
        return handle.value


def _from_file(path: str, mode: str, cache: str | None) -> tuple[Manifest, Any]:
    """The kernel or the dispatch table of the file [path], beside which its sources lie."""
    import json

    text = _home.read(path)
    folder = os.path.dirname(path)
    try:
        told = json.loads(text)
        if "tmagen_table" in told:
            first = os.path.join(folder, f"{told['kernels'][0]['name']}.json")
            return Manifest(_home.read(first), first), _Table(told["name"], path, mode, cache)
        source = os.path.join(folder, os.path.basename(told["source"]))
    except (ValueError, KeyError, TypeError, IndexError) as error:
        raise Error(f"{path}: no launch manifest or dispatch table: {error!r}", MANIFEST) from None
    manifest = Manifest(text, path)
    return manifest, _Texts(manifest.name, text, _home.read(source), mode, cache)


def _find(name: str, directory: str | None, knobs: dict, templates: str | None, *how):
    """The manifest and the loader of what [name] and [knobs] ask for."""
    folder = directory or _home.kernels()
    shipped = name if name.endswith(".json") else os.path.join(folder, name + ".json")
    if not knobs and not name.endswith((".yaml", ".yml")) and (
        name.endswith(".json") or os.path.isfile(shipped)
    ):
        return _from_file(shipped, *how)
    if name.endswith((".yaml", ".yml")):
        if not os.path.isfile(name):
            raise Error(f"{name}: no such file")
        base = name
    elif directory is not None and not knobs:
        raise Error(f"{name}: there is no {shipped}", FILE)
    elif name.endswith(".json"):
        raise Error(f"{name}: knobs are a spec's or a family's, not a manifest's")
    else:
        base = _home.spec(name)
    from . import _spec  # what it imports takes longer than all else here

    try:
        stem, manifest, source = _spec.texts(name, base, knobs, templates)
    except Error as error:
        if base or knobs:
            raise
        raise Error(f"{name}: neither {shipped} nor a family: {error}", error.code) from None
    return Manifest(manifest, stem), _Texts(stem, manifest, source, *how)


def load(
    name: str | os.PathLike,
    /,
    *,
    device: str | None = None,
    directory: str | os.PathLike | None = None,
    templates: str | os.PathLike | None = None,
    cache_dir: str | os.PathLike | None = None,
    mode: str = "compile",
    bundle: str | os.PathLike | None = None,
    **knobs: Any,
) -> Kernel:
    """Loads a kernel.

    name: of a shipped kernel ("gemm_256x128") or dispatch table ("gemm_bf16_h200"), of a family
        ("gemm"), or the path of a manifest (.json) or a spec (.yaml).
    knobs: of the family, over those of the spec: load("gemm", tile={"m": 256}, stages=4). The
        kernel is then generated, in memory, and compiled when it is first loaded for a device, or
        taken from the cache.
    device: "cuda:1" or "emu": loads it there now and takes no other's arrays. None: whatever GPU
        the arrays of a call lie on.
    directory: where names are looked up, and nowhere else; without it in that of the variable
        TMAGEN_KERNELS, else in the package.
    templates: a folder of families of your own.
    cache_dir: of compiled kernels; else TMAGEN_CACHE, XDG_CACHE_HOME/tmagen or ~/.cache/tmagen.
    mode: "compile" on a miss; "fail" on one, for production; "no_cache" compiles always.
    bundle: a file of `tmagen bundle`, to take the kernel or dispatch table [name] from as it is.
    """
    if mode not in [*MODES]:
        raise Error(f"load: mode is {mode!r}; legal: {', '.join(MODES)}", ARGUMENT)
    if not isinstance(device, (str, type(None))):
        raise Error(f"load: device is {device!r}; legal: cuda, cuda:N, emu, emu:N", ARGUMENT)
    if device == "cuda":
        device = "cuda:0"
    if bundle is not None:
        if knobs:
            raise Error(f"{name}: what is in a bundle has no knobs any more")
        from . import _bundle

        return Kernel(*_bundle.find(os.fspath(bundle), os.fsdecode(name)), device)
    how = (mode, cache_dir)
    manifest, loader = _find(os.fsdecode(name), directory, knobs, templates, *how)
    return Kernel(manifest, loader, device)
