"""A kernel that can be called."""

import ctypes
import operator
import threading
from typing import Any

from . import _device, _frameworks
from ._error import ARGUMENT, Error
from ._library import OVERLAP, KernelInfo, check, library
from ._manifest import Manifest
from ._plan import CudaPlan, HostPlan, Plan, Request
from ._rooms import Rooms
from ._view import View

_readers = _frameworks.readers
PLANS = 4096  # signatures that are remembered
OPTIONS = ("overlap", "sms", "splits")


class Kernel:
    """A generated kernel, or a dispatch table's kernels; made by load().

    Called with arrays by the manifest's names, and perhaps scalars and dims: d = kernel(a=a, b=b).
    Tensors that it writes are allocated by the framework of the first array and returned in the
    manifest's order, unless they are given, as d=. The launch is on that framework's current stream
    and asynchronous, as the framework's own. Options of a launch: sms=, how many a persistent
    kernel may use; splits=; overlap=True (TMAGEN_LAUNCH_OVERLAP).

    May be called from any thread. It is loaded for a device by the first call with arrays there, or
    by prepare(), and stays loaded for the life of the process, since a CUDA graph may hold it.
    """

    def __init__(self, manifest: Manifest, loader: Any, device: str | None) -> None:
        self._manifest, self._loader, self._wanted = manifest, loader, device
        self._is_set = loader.is_set
        self._numbers = set(manifest.scalars)
        self._sizes = {*manifest.dims, *OPTIONS} - set(manifest.tensors)
        self._begin()
        _device.forget.add(self)
        if device is not None:
            self._native(device)

    def _begin(self) -> None:
        """As if nothing had been loaded: at first, and in a forked child."""
        self._plans: dict[tuple, Plan] = {}
        self._latest: tuple[list | None, Any] = None, None  # of the plans, with its key
        self._natives: dict[str, int] = {}
        self._lock = threading.Lock()
        self._rooms = Rooms(self._manifest.semaphores or self._is_set)

    # ---- What it is

    @property
    def name(self) -> str:
        """The manifest's name."""
        return self._loader.name

    @property
    def manifest(self) -> dict:
        """The launch manifest as JSON; a dispatch table's is that of its first kernel."""
        return self._manifest.json

    def __repr__(self) -> str:
        return f"<tmagen.Kernel {self._manifest.call()}>"

    def info(self, device: str = "cuda:0") -> dict[str, Any]:
        """What compiler and driver say of it: registers, spills, key, compile_ms, ..."""
        if self._is_set:
            raise Error(f"{self.name}: is a dispatch table; legal: one of its kernels")
        told = KernelInfo()
        size = ctypes.sizeof(told)
        check(library().tmagen_kernel_get_info_sized(self._native(device), told, size))
        resources = {name: getattr(told.resources, name) for name, _ in told.resources._fields_}
        own = {name: getattr(told, name) for name, _ in told._fields_ if name != "resources"}
        text = {name: value.decode() for name, value in own.items() if isinstance(value, bytes)}
        return {**own, **text, **resources}

    # ---- Loading

    def prepare(self, device: str = "cuda:0") -> "Kernel":
        """Loads it for [device] now: what a dispatch table names, too. Returns itself."""
        native = self._native(device)
        if self._is_set:
            check(library().tmagen_set_load(native, None))
        return self

    def _native(self, device: str) -> int:
        native = self._natives.get(device)
        if native is None:
            with self._lock:
                native = self._natives.get(device)
                if native is None:
                    native = self._natives[device] = self._loader.load(_device.device(device))
        return native

    _device_handle = staticmethod(_device.device)

    @property
    def _start(self) -> Any:
        made = library()
        return made.tmagen_set_launch_sized if self._is_set else made.tmagen_kernel_launch_sized

    @property
    def _ask_workspace(self) -> Any:
        made = library()
        if self._is_set:
            return made.tmagen_set_workspace_sized
        return made.tmagen_kernel_workspace_sized

    # ---- Calling

    def __call__(self, /, **arguments: Any) -> Any:
        key: list = [*arguments]
        addresses: list | None = []
        try:
            for value in arguments.values():
                signature, address = _readers[type(value)](value)
                key.append(signature)
                addresses.append(address)
        except (KeyError, Error):
            addresses = None
        if addresses is None:
            return self._call_any(arguments)
        latest, plan = self._latest  # mostly the same again, and comparing is faster than hashing
        if key == latest:
            return plan.run(addresses, arguments)
        plan = self._plans.get(tuple(key))
        if plan is None:
            plan = self._plan(tuple(key), zip(arguments, key[len(addresses) :]), arguments, addresses)
        self._latest = key, plan
        return plan.run(addresses, arguments)

    # Dynamo steps aside for what it cannot trace; tmagen.torch.op() is for what it should keep.
    __call__._torchdynamo_disable = True  # type: ignore[attr-defined]

    def _call_any(self, arguments: dict[str, Any]) -> Any:
        """A call with more than arrays of known frameworks, or with one that cannot be read."""
        signatures: list = []  # pairs of a name, and what decides the launch
        addresses: list = []
        numbers: list = []
        streams: list = []
        name = None
        try:
            for name, value in arguments.items():
                if name in self._numbers:
                    numbers.append(float(value))
                    signatures.append((name, None))
                elif name in self._sizes:
                    signatures.append((name, operator.index(value)))
                else:
                    stream = self._ambient(arguments, value)
                    signature, address = _frameworks.read_any(value, stream, streams)
                    signatures.append((name, signature))
                    addresses.append(address)
        except Error as error:
            raise Error(f"{self.name}: tensor '{name}' {error}", error.code) from None
        except (TypeError, ValueError, BufferError, AttributeError, RuntimeError) as error:
            raise Error(f"{self.name}: '{name}' cannot be read: {error}") from error
        key = tuple(signatures)
        plan = self._plans.get(key)
        if plan is None:
            plan = self._plan(key, signatures, arguments, addresses)
        return plan.run(addresses, arguments, numbers, streams)

    def _ambient(self, arguments: dict[str, Any], value: Any) -> int | None:
        """The stream of the launch, for an array that is only known by a protocol."""
        if _frameworks.owner(type(value)) or (self._wanted or "").startswith("emu"):
            return None
        for other in arguments.values():
            framework = _frameworks.owner(type(other))
            if framework is not None:
                device = framework.view(framework.read(other)[0]).device
                return None if device == "cpu" else framework.stream(device)()
        return None

    def _plan(self, key: tuple, signatures: Any, arguments: dict, addresses: list) -> Plan:
        request = self._request(signatures, arguments)
        self._check(request)
        device = self._place(request.views)
        kind = HostPlan if device.startswith("emu") else CudaPlan
        plan = kind(self, request, _frameworks.of(arguments), device, addresses)
        if len(self._plans) >= PLANS:
            self._plans.clear()
        self._plans[key] = plan
        return plan

    def _request(self, signatures: Any, arguments: dict[str, Any]) -> Request:
        """What the call's signatures mean."""
        views, sizes, scalars = {}, {}, []
        for name, signature in signatures:
            if name in self._numbers and signature is None:
                scalars.append(name)
            elif isinstance(signature, int):
                sizes[name] = signature
            else:
                views[name] = self._view(name, type(arguments[name]), signature)
        overlap = sizes.pop("overlap", 0)
        options = {name: sizes.pop(name) for name in ("sms", "splits") if name in sizes}
        options["flags"] = OVERLAP if overlap else 0
        return Request(views, sizes, scalars, options)

    def _view(self, name: str, kind: type, signature: Any) -> Any:
        """A framework's reader has its signatures, others the view itself."""
        try:
            return signature if isinstance(signature, View) else _frameworks.view(kind, signature)
        except Error as error:
            raise Error(f"{self.name}: tensor '{name}' {error}") from None

    def _fail(self, name: str, what: str) -> None:
        raise Error(f"{self.name}: tensor '{name}' {what}", ARGUMENT)

    def _check(self, request: Request) -> None:
        """What the library cannot see: dtypes, what is read-only, strides of 0, missing names."""
        views, tensors = request.views, self._manifest.tensors
        for name, view in views.items():
            if name in self._numbers:
                raise Error(f"{self.name}: '{name}' is an array; legal: a number")
            if name not in tensors:
                raise Error(
                    f"{self.name}: has no argument '{name}'; legal: {self._manifest.call()}"
                )
            tensor = tensors[name]
            if view.dtype != tensor.dtype:
                wanted = f"{tensor.dtype}; {name}{self._manifest.layout(name)}"
                self._fail(name, f"has elements of {view.dtype}; legal: {wanted}")
            if len(view.shape) == 0 and len(tensor.extents) == 1:
                views[name] = view = view._replace(shape=(1,), strides=(1,))
            if len(view.shape) != len(tensor.extents):
                wanted = self._manifest.layout(name)
                self._fail(name, f"has the shape {list(view.shape)}; legal: {wanted}")
            if any(size > 1 and step == 0 for size, step in zip(view.shape, view.strides)):
                self._fail(name, f"is broadcast: strides {list(view.strides)}; legal: a copy of it")
            if tensor.writes and not view.writable:
                self._fail(name, "is read-only, and the kernel writes it; legal: a writable array")
        for name, tensor in tensors.items():
            if tensor.reads and name not in views:
                self._fail(name, f"is missing; legal: {self._manifest.call()}")

    def _place(self, views: dict[str, Any]) -> str:
        """The device of the launch: that of all arrays, and the one that was asked for."""
        wanted = self._wanted
        places = {"cuda": wanted or "cuda:0"}  # of an interface that does not say which
        known = sorted({view.device for view in views.values()} - {"cuda", "cpu"})
        if known:
            places["cuda"] = known[0]
        for name, view in views.items():
            place = places.get(view.device, view.device)
            if wanted and wanted.startswith("emu") and place != "cpu":
                self._fail(name, f"lies on {place}; legal: host memory, for {wanted}")
            if not (wanted and wanted.startswith("emu")) and place == "cpu":
                self._fail(
                    name,
                    f"lies in host memory; legal: {wanted or 'a GPU'}, or "
                    'tmagen.load(..., device="emu") to run on the emulator',
                )
            if wanted and wanted.startswith("cuda") and place != wanted:
                self._fail(name, f"lies on {place}; legal: {wanted}")
            if place != places["cuda"] and place != "cpu":
                self._fail(name, f"lies on {place}, other tensors on {places['cuda']}; legal: one")
        return wanted or places["cuda"]
