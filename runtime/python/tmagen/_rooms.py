"""The workspaces of a kernel, by the framework's allocator.

Semaphores there must be zero before a launch, and the kernel leaves zeros behind. So they outlive
the call, one piece for each stream, whose launches follow each other and whose shapes keep theirs
apart by themselves. Without semaphores a workspace is as temporary as any.
"""

import threading
from typing import Any


class Rooms:
    """The workspaces of one kernel."""

    def __init__(self, semaphores: bool, shared: bool) -> None:
        self._semaphores, self._shared = semaphores, shared
        self._held: dict[tuple, list] = {}  # [bytes, the plan that used it last, the memory]
        self.lock = threading.RLock()

    def room(self, plan: Any, framework: Any, device: str, stream: int, count: int) -> Any:
        """Memory of [count] bytes for a launch of [plan] on [stream], which the caller makes before
        it lets go of the lock."""
        if not self._semaphores:
            return framework.maker((count,), "u8", device)()
        if framework.capturing(device):  # the graph owns it, and clears it whenever it runs
            return framework.zeros(count, device)
        held = self._held.get((device, stream, framework))
        if held is None or held[0] < count:
            held = [count, plan, framework.zeros(count, device)]
            self._held[device, stream, framework] = held
        elif held[1] is not plan:
            held[1] = plan
            if not self._shared:
                framework.clear(held[2])
        return held[2]
