"""The workspaces of a kernel, by the framework's allocator.

Semaphores there must be zero before a launch, and the kernel leaves zeros behind. So they outlive
the call, one piece for each stream, whose launches follow each other and whose shapes keep theirs
apart by themselves. Without semaphores a workspace is as temporary as any.
"""

import threading
from typing import Any


class Rooms:
    """The workspaces of one kernel."""

    def __init__(self, semaphores: bool) -> None:
        self._semaphores = semaphores
        self._held: dict[tuple, tuple] = {}  # bytes, the memory
        self.lock = threading.RLock()

    def room(self, framework: Any, device: str, stream: int, count: int) -> Any:
        """Memory of [count] bytes for a launch on [stream], which the caller makes before it lets
        go of the lock."""
        if not self._semaphores:
            return framework.maker((count,), "u8", device)()
        if framework.capturing(device):  # the graph owns it, and clears it whenever it runs
            return framework.zeros(count, device)
        held = self._held.get((device, stream, framework))
        if held is None or held[0] < count:
            held = count, framework.zeros(count, device)
            self._held[device, stream, framework] = held
        return held[1]
