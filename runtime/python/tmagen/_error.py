"""The one exception: a code of tmagen.h and the library's sentence."""

_NAMES = {
    -1: "argument",
    -2: "memory",
    -3: "no driver",
    -4: "no device",
    -5: "no compiler",
    -6: "compile",
    -7: "miss",
    -8: "manifest",
    -9: "file",
    -10: "device",
    -11: "bundle",
}
ARGUMENT, NO_DEVICE, FILE = -1, -4, -9


class Error(Exception):
    """What went wrong, in the library's own words.

    code is TMAGEN_ERROR_* of tmagen.h as a number, name what it is about: "argument", "memory",
    "no driver", "no device", "no compiler", "compile", "miss", "manifest", "file", "device" or
    "bundle".
    """

    code: int
    name: str

    def __init__(self, text: str, code: int = ARGUMENT) -> None:
        super().__init__(text)
        self.code = code
        self.name = _NAMES.get(code, "unknown")

    def __reduce__(self):
        return Error, (str(self), self.code)


Error.__module__ = "tmagen"  # where users meet it
