#!/bin/sh
# Every mistake of tests/mutations.txt can be planted: where code moves, its mistakes move too.
[ -z "${SANITIZED:-}" ] || { echo "the list is the same without sanitizers"; exit 77; }
set -e
scripts/mutate.py --sum

# A test that was skipped notices nothing: mutate.py says its name, and goes on to the next.
mkdir -p "$TMPDIR/tests" "$TMPDIR/scripts"
cat >"$TMPDIR/tests/run_tests.sh" <<'EOF'
#!/bin/sh
echo "SKIP cli.bench: no NVRTC"
echo "ok   unit.gen.test_spec (3 of 5, 2 skipped)"
[ "$ONLY" = two ] || exit 0
trap 'echo removed >scratch; exit' TERM
echo "FAIL cli.late"
sleep 20 &    # and not before the shell, which would see the signal only behind it
wait
EOF
chmod +x "$TMPDIR/tests/run_tests.sh"
TMPDIR=$TMPDIR PYTHONDONTWRITEBYTECODE=1 python3 - >"$TMPDIR/said" <<'EOF'
import os, pathlib, sys
sys.path.insert(0, "scripts")
import mutate
mutate.nvrtc = lambda: ""
for only in ("one", "two"):
    print(mutate.run_tests(os.environ["TMPDIR"], only, []))
# A checkout has no program but those that a test is known to want; without, it fails anyway.
for script in pathlib.Path("tests/cli").glob("*.sh"):
    built = mutate.helpers(pathlib.Path(), f"cli/{script.stem}.sh", [])
    for source in pathlib.Path("tests").glob("*.c"):
        if f"BUILD/tests/{source.stem}" in script.read_text():
            assert f"build/tests/{source.stem}" in built, (script, source)
EOF
diff "$TMPDIR/said" - <<'EOF'
SKIPPED, and so cannot notice: SKIP cli.bench: no NVRTC
SKIPPED, and so cannot notice: ok   unit.gen.test_spec (3 of 5, 2 skipped)
None
cli.late
EOF
grep -q removed "$TMPDIR/scratch"    # a run that is ended cleans up
