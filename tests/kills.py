#!/usr/bin/env python3
"""Kills processes while they compile and store a kernel: no entry ever loads wrongly.

Most are killed at a random moment, some as soon as they write, which takes too short to be hit by
chance. What is left for a user after that, tests/cli/cache_kill.sh asks.

usage: tests/kills.py KEY RANDOM_KILLS AIMED_KILLS
  KEY: what one process stores in $TMAGEN_CACHE, empty to begin with, from the specs' gemm_256x128
"""
import os
import random
import subprocess
import sys
import time
from pathlib import Path

TMAGEN, CACHE = os.environ["TMAGEN"], Path(os.environ["TMAGEN_CACHE"])
COMMAND = [TMAGEN, "-o", os.environ["TMPDIR"] + "/out", "gemm_256x128"]
PATIENCE = 30           # seconds after which a process that takes 20 ms alone is one that hangs


def temporaries():
    return sum(entry.name.startswith(".new-") for entry in os.scandir(CACHE))


def state(process):
    """What the system knows of a process that does not end."""
    folder = Path(f"/proc/{process.pid}")
    files = [f"{link.name} -> {os.readlink(link)}" for link in (folder / "fd").iterdir()]
    return "\n".join([(folder / "status").read_text(), (folder / "wchan").read_text(), *files])


class Kills:
    def __init__(self, key):
        self.entry = CACHE / key
        self.killed = self.stored = 0
        start = time.monotonic()
        subprocess.run(COMMAND, check=True, stdout=subprocess.DEVNULL)
        self.duration = time.monotonic() - start

    def random_moment(self, process, _):
        """Waits for any part of what a whole run takes: a little less after a run that had ended
        before, a little more after one that had not, for a busy machine's runs differ in length."""
        time.sleep(random.random() * self.duration)
        self.duration *= .9 if process.poll() is not None else 1.03

    @staticmethod
    def when_it_writes(process, had):
        """Waits for one more temporary, or for the process to end without one."""
        start = time.monotonic()
        while process.poll() is None and temporaries() == had:
            if time.monotonic() - start > PATIENCE:
                sys.exit(f"a process hangs: {state(process)}")

    def kill(self, wait):
        """Starts a process that has to compile, waits, kills it, and looks at what is left."""
        self.entry.unlink(missing_ok=True)
        had = temporaries()
        with subprocess.Popen(COMMAND, stdout=subprocess.DEVNULL,
                              stderr=subprocess.DEVNULL) as process:
            try:
                wait(process, had)
                self.killed += process.poll() is None
            finally:    # also one that hangs, for which `with` would wait
                process.kill()
        if not self.entry.exists():
            return
        self.stored += 1
        verified = subprocess.run([TMAGEN, "cache", "verify"], capture_output=True, text=True)
        if verified.returncode:
            sys.exit(f"left: {verified.stdout}{verified.stderr}")


def main():
    key, random_kills, aimed_kills = sys.argv[1], int(sys.argv[2]), int(sys.argv[3])
    random.seed(1)
    kills = Kills(key)
    for _ in range(random_kills):
        kills.kill(kills.random_moment)
    for _ in range(aimed_kills):
        kills.kill(kills.when_it_writes)
    for _ in range(100):    # a busy machine looks too late, and hits none of the first
        if temporaries():
            break
        kills.kill(kills.when_it_writes)
    left = temporaries()
    print(f"{kills.killed} killed, {kills.stored} had stored their entry, {left} left a temporary")
    if kills.killed < random_kills / 2:
        sys.exit("too few were killed to mean anything")
    if not left:
        sys.exit("none was killed while it wrote")


if __name__ == "__main__":
    main()
