"""What a call must know of a manifest: tensors, dims, scalars, and sizes that follow from sizes.

What is legal is the library's to say; here a size may be a torch.SymInt as well as an int.
"""

from typing import Any, NamedTuple

from ._error import Error

MANIFEST = -8


class Tensor(NamedTuple):
    """A tensor of the manifest."""

    name: str
    dtype: str
    extents: list
    writes: bool
    reads: bool


def extent(rule: Any, dims: dict) -> Any:
    """The value of a manifest's extent: a number, a dim's name, or (plus + times dim) / by, up."""
    if isinstance(rule, str):
        return dims[rule]
    if isinstance(rule, int):
        return rule
    scaled = rule.get("plus", 0) + rule.get("times", 1) * dims[rule["dim"]]
    by = rule.get("by", 1)
    return (scaled + (by - 1)) // by


def describe(rule: Any) -> str:
    """An extent as an error shows it."""
    if not isinstance(rule, dict):
        return str(rule)
    times, plus, by = rule.get("times", 1), rule.get("plus", 0), rule.get("by", 1)
    text = f"{times} {rule['dim']}" if times != 1 else rule["dim"]
    text = f"{plus} + {text}" if plus else text
    return f"ceil({text} / {by})" if by != 1 else text


class Manifest:
    """A kernel's manifest, or for a dispatch table that of its first kernel."""

    def __init__(self, text: bytes, where: str) -> None:
        import json  # of what importing tmagen costs, a tenth

        try:
            self.json: dict = json.loads(text)
            self.name: str = self.json["name"]
            self.family: str = self.json["family"]
            self.tensors = {
                t["name"]: Tensor(
                    t["name"], t["dtype"], t["dims"], t["access"] != "read", "read" in t["access"]
                )
                for t in self.json["tensors"]
            }
            self.dims = {d["name"]: d for d in self.json["dims"]}
            self.scalars = {
                p["name"]: p["default"] for p in self.json["params"] if p["kind"] == "scalar"
            }
            parts = self.json.get("workspace", [])
            self.semaphores = any(part.get("zero") == "first" for part in parts)
        except (ValueError, KeyError, TypeError) as error:
            raise Error(f"{where}: no launch manifest: {error!r}", MANIFEST) from None

    def solve(self, shapes: dict, given: dict) -> dict:
        """The dims that follow from tensors' shapes and from [given] ones, as far as they do.

        Where two disagree the first stands: the library refuses the launch in its own words.
        """
        dims = {name: row["value"] for name, row in self.dims.items() if "value" in row}
        dims.update(given)
        for name, shape in shapes.items():
            for rule, size in zip(self.tensors[name].extents, shape):
                if isinstance(rule, str):
                    dims.setdefault(rule, size)
                elif isinstance(rule, dict) and rule.get("by", 1) == 1:
                    value = (size - rule.get("plus", 0)) // rule.get("times", 1)
                    dims.setdefault(rule["dim"], value)
        for name, row in self.dims.items():
            if "ceil" in row and row["ceil"]["dim"] in dims:
                dims[name] = extent(row["ceil"], dims)
        return dims

    def layout(self, name: str) -> str:
        """A tensor's dims as an error shows them: [m, ceil(k / 128)]."""
        rules = (self.dims.get(rule, {}).get("ceil", rule) if isinstance(rule, str) else rule
                 for rule in self.tensors[name].extents)
        return "[" + ", ".join(map(describe, rules)) + "]"

    def shape(self, name: str, dims: dict) -> tuple:
        """The shape of the tensor [name]."""
        return tuple(extent(rule, dims) for rule in self.tensors[name].extents)

    def missing(self, dims: dict) -> list:
        """The dims that nothing says."""
        return [name for name in self.dims if name not in dims]

    def call(self) -> str:
        """How a kernel is called, as "gemm_256x128(a, b, *, d=None)"."""
        tensors = self.tensors.values()
        needed = [t.name for t in tensors if t.reads]
        if self.scalars or any(not t.reads for t in tensors):
            needed.append("*")
        needed += [f"{t.name}=None" for t in tensors if not t.reads]
        needed += [f"{name}={value:g}" for name, value in self.scalars.items()]
        return f"{self.name}({', '.join(needed)})"
