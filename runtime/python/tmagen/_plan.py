"""A plan is all that follows from a call's signature: checked, sized, and written into structs.

The first call with a signature makes it; later ones put addresses into it and launch.
"""

import ctypes
from typing import Any

from ._error import Error
from ._library import LAUNCH_SIZES, check, library
from ._slot import Slot, slot
from ._view import View, contiguous

PLACEHOLDER = 1 << 40  # the address of what is not yet allocated, aligned as well as any


class Request:
    """A call, as far as it decides what is launched: everything but addresses and scalars."""

    def __init__(self, views: dict[str, View], dims: dict, scalars: list, options: dict) -> None:
        self.views, self.dims, self.scalars, self.options = views, dims, scalars, options


class Plan:
    """The launches of one kernel with one signature on one device."""

    def __init__(self, kernel, request: Request, framework, device: str, addresses) -> None:
        self._kernel, self._request, self._framework = kernel, request, framework
        manifest = kernel._manifest
        self._made = [t.name for t in manifest.tensors.values()
                      if not t.reads and t.name not in request.views]
        self._free: list[Slot] = []
        self._native = kernel._native(device)
        trial = self._slot()
        self._fill(trial, [*addresses, *([PLACEHOLDER] * len(self._made))])
        count = ctypes.c_size_t()
        check(kernel._ask_workspace(self._native, trial.address, LAUNCH_SIZES, ctypes.byref(count)))
        self._workspace = count.value
        shapes = {name: view.shape for name, view in request.views.items()}
        dims = manifest.solve(shapes, request.dims)
        shapes = [manifest.shape(name, dims) for name in self._made]
        dtypes = [manifest.tensors[name].dtype for name in self._made]
        self._views = [View(dtype, shape, contiguous(shape), device, True)
                       for dtype, shape in zip(dtypes, shapes)]
        self._results = [t.name for t in manifest.tensors.values() if not t.reads]
        self._device = device
        self._prepare(shapes, dtypes)

    def _prepare(self, shapes: list, dtypes: list) -> None:
        framework, device = self._framework, self._device
        if framework is None and (self._made or self._workspace):
            what = f"'{self._made[0]}'" if self._made else "the workspace"
            raise Error(
                f"{self._kernel.name}: none of the arrays says by what {what} is to be allocated; "
                "legal: an array of PyTorch, CuPy, JAX or NumPy among them"
            )
        place = "cpu" if device.startswith("emu") else device
        self._makers = [framework.maker(shape, dtype, place)
                        for shape, dtype in zip(shapes, dtypes)]
        self._result = getattr(framework, "result", None)
        self._single = len(self._results) == len(self._made) == 1 and self._result is None
        self._launch = self._kernel._start
        self._address = framework.address if framework else None

    def _slot(self) -> Slot:
        request = self._request
        views = [*request.views.items(), *((name, None) for name in self._made)]
        return slot(views, request.dims, request.scalars, **request.options)

    @staticmethod
    def _fill(slot: Slot, addresses: list, numbers=()) -> None:
        for place, address in zip(slot.places, addresses):
            slot.words[place] = address
        for scalar, number in zip(slot.numbers, numbers):
            scalar.value = number

    def _give(self, made: list, arguments: dict[str, Any]) -> Any:
        """The results in the manifest's order: the arrays made, or those that the caller gave."""
        if self._result is not None:
            made = [self._result(array) for array in made]
        ours = dict(zip(self._made, made))
        given = (ours.get(name, arguments.get(name)) for name in self._results)
        results = tuple(getattr(one, "array", one) if name not in ours else one
                        for name, one in zip(self._results, given))
        return results[0] if len(results) == 1 else results


class HostPlan(Plan):
    """On the emulator."""

    def run(self, addresses: list, arguments: dict, numbers=(), streams=()) -> Any:
        from contextlib import ExitStack

        from . import _emulate

        kernel, launch = self._kernel, self._slot()
        device = kernel._device_handle(self._device)
        made = [make() for make in self._makers]
        hosts = [*addresses, *map(self._address, made)]
        views = [*self._request.views.values(), *self._views]
        names = [*self._request.views, *self._made]
        with ExitStack() as stack:
            for place, name, view, host in zip(launch.places, names, views, hosts):
                writes = kernel._manifest.tensors[name].writes
                launch.words[place] = stack.enter_context(
                    _emulate.borrowed(device, view, host, writes, name in self._made)
                )
            self._fill(launch, [], numbers)
            if self._workspace:
                launch.launch.workspace = stack.enter_context(
                    _emulate.zeroed(device, self._workspace)
                )
                launch.launch.workspace_bytes = self._workspace
            check(self._launch(self._native, None, launch.address, LAUNCH_SIZES))
        return self._give(made, arguments)


class CudaPlan(Plan):
    """On a GPU, on the framework's current stream."""

    def _prepare(self, shapes: list, dtypes: list) -> None:
        super()._prepare(shapes, dtypes)
        framework = self._framework
        self._stream = framework.stream(self._device) if framework else None
        self._waits = getattr(framework, "SYNCHRONOUS", False)
        if self._single and self._stream and not (self._waits or self._workspace):
            self.run = self._plainly()

    def _plainly(self):
        """run() for most kernels: one output, no workspace. Its names are as near as can be."""
        free, make, stream = self._free, self._makers[0], self._stream
        take, give, launch, native = free.pop, free.append, self._launch, self._native
        address_of, sizes = self._address, ctypes.c_uint64(LAUNCH_SIZES)
        native = ctypes.c_void_p(native)  # what ctypes need not convert is faster

        def run(addresses: list, arguments: dict, numbers=(), streams=()) -> Any:
            try:
                taken = take()
            except IndexError:  # all are in the hands of other threads
                taken = self._slot()
            made = make()
            addresses.append(address_of(made))
            words, places, pointer, scalars, _ = taken
            for place, address in zip(places, addresses):
                words[place] = address
            if numbers:
                for scalar, number in zip(scalars, numbers):
                    scalar.value = number
            status = launch(native, stream(), pointer, sizes)
            if status:
                check(status)
            give(taken)
            return made

        return run

    def run(self, addresses: list, arguments: dict, numbers=(), streams=()) -> Any:
        try:
            taken = self._free.pop()
        except IndexError:
            taken = self._slot()
        made = [make() for make in self._makers]
        self._fill(taken, [*addresses, *map(self._address, made)], numbers)
        stream = self._stream() if self._stream else streams[0] if streams else 0
        if self._workspace:
            self._start_with_workspace(taken, stream)
        else:
            check(self._launch(self._native, stream, taken.address, LAUNCH_SIZES))
        if self._waits:
            check(library().tmagen_device_synchronize(self._kernel._device_handle(self._device)))
        self._free.append(taken)
        return self._give(made, arguments)

    def _start_with_workspace(self, taken: Slot, stream: int) -> None:
        rooms = self._kernel._rooms
        with rooms.lock:
            room = rooms.room(self._framework, self._device, stream, self._workspace)
            taken.launch.workspace = self._address(room)
            taken.launch.workspace_bytes = self._workspace
            check(self._launch(self._native, stream, taken.address, LAUNCH_SIZES))
