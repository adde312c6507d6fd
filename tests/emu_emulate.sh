#!/usr/bin/env bash
# tmagen emulate: a launch that is right, one that reads too far, arguments that do not fit.
set -eu
launch=tests/emu/saxpy/launch.yaml
sed "s|random: 2}|random: 2, to: $TMPDIR/y.npy}|" $launch >"$TMPDIR/save.yaml"
"$TMAGEN" emulate --schedules 5 "$TMPDIR/save.yaml"
head -c 6 "$TMPDIR/y.npy" | grep -q NUMPY
sed "s|random: 2}|from: $TMPDIR/y.npy}|" $launch >"$TMPDIR/again.yaml"
"$TMAGEN" emulate "$TMPDIR/again.yaml"

fails() { # TEXT FILE: emulate must end with 1 and say TEXT
    local status=0
    "$TMAGEN" emulate "$2" 2>"$TMPDIR/error" || status=$?
    if [ $status != 1 ] || ! grep -qF "$1" "$TMPDIR/error"; then
        echo "exit $status where 1 is due, or not '$1' in:"
        cat "$TMPDIR/error"
        exit 1
    fi
}
sed 's/value: 1000/value: 1001/' $launch >"$TMPDIR/far.yaml"
fails "read of 4 bytes at offset 4000 of x, which has 4000 bytes" "$TMPDIR/far.yaml"
sed 's/scalar: u32/scalar: u64/' $launch >"$TMPDIR/wide.yaml"
fails "parameter 3 has 8 bytes here and 4 in saxpy" "$TMPDIR/wide.yaml"
sed 's/buffer: y}/buffer: z}/' $launch >"$TMPDIR/name.yaml"
fails "there is no buffer 'z'" "$TMPDIR/name.yaml"
sed 's/block: .*/block: [2048]/' $launch >"$TMPDIR/block.yaml"
fails "1024 threads" "$TMPDIR/block.yaml"
sed 's/random: 1}/other: 1}/' $launch >"$TMPDIR/unwritten.yaml"
fails "uninitialised read" "$TMPDIR/unwritten.yaml"
echo "1 passed, 0 failed"
