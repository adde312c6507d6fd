# shellcheck shell=bash disable=SC2034
# By what scripts hold what a command gave; they source it, and end by `exit $failed`.
failed=0
fail() { echo "FAILED: $*"; failed=1; }

# exits CODE COMMAND... - what it says is in the files out and err.
exits() {
    local wanted=$1
    shift
    "$@" >"$TMPDIR/out" 2>"$TMPDIR/err"
    local code=$?
    [ $code = "$wanted" ] && return
    fail "exit code $code, not $wanted: $*"
    cat "$TMPDIR/out" "$TMPDIR/err"
}

# has FILE PATTERN..., hasnt FILE PATTERN - lines of it match; none does.
has() {
    local file=$1 pattern
    shift
    for pattern; do
        grep -Eq -- "$pattern" "$file" || { fail "no /$pattern/ in:"; cat "$file"; }
    done
}
hasnt() { ! grep -Eq -- "$2" "$1" || { fail "/$2/ in:"; cat "$1"; }; }

# says PATTERN... - the last command that exits was asked of did, on either stream.
says() {
    cat "$TMPDIR/out" "$TMPDIR/err" >"$TMPDIR/said"
    has "$TMPDIR/said" "$@"
}
