#!/bin/sh
# scripts/setup.sh on a machine that lacks things: what it says, what it asks of apt-get.
# The machine is a PATH of a few programs and a pretended apt-get, so nothing is ever installed.
set -u
bad=0
fail() { echo "$*"; bad=1; }

mkdir -p "$TMPDIR/bare" "$TMPDIR/apt"
for tool in sh sort tr; do ln -s "$(command -v $tool)" "$TMPDIR/bare/"; done

# as UID FOLDERS GROUP... - runs setup.sh there; its words in $said, its exit code in $code.
as() {
    printf '#!/bin/sh\necho %s\n' "$1" >"$TMPDIR/bare/id"
    chmod +x "$TMPDIR/bare/id"
    path=$2
    shift 2
    said=$(PATH=$path scripts/setup.sh "$@" 2>&1)
    code=$?
}

as 0 "$TMPDIR/bare" build
[ $code = 3 ] || fail "without apt-get: exit code $code, not 3"
case $said in
*liblua5.4-dev*libyaml-dev*pkg-config*"no apt-get"*) ;;
*) fail "without apt-get: $said" ;;
esac

printf '#!/bin/sh\necho "$@" >>%s/asked\nexit 100\n' "$TMPDIR" >"$TMPDIR/apt/apt-get"
chmod +x "$TMPDIR/apt/apt-get"
as 1000 "$TMPDIR/bare:$TMPDIR/apt" build test fuzz
[ $code = 3 ] || fail "not root: exit code $code, not 3"
[ ! -e "$TMPDIR/asked" ] || fail "not root, and yet apt-get ran: $(cat "$TMPDIR/asked")"
case $said in
*"sudo apt-get install"*clang*gcc*libcmocka-dev*make*) ;;
*) fail "not root: $said" ;;
esac

as 0 "$TMPDIR/bare:$TMPDIR/apt" nvrtc
[ $code = 3 ] || fail "apt-get fails: exit code $code, not 3"
grep -q 'install .*python3-pip .*Lock::Timeout=120' "$TMPDIR/asked" ||
    fail "apt-get was asked: $(cat "$TMPDIR/asked")"
grep -q update "$TMPDIR/asked" || fail "the package lists were not updated"

as 0 "$PATH" build test
[ "$code:$said" = 0: ] || fail "nothing is missing, and yet: $said"
exit $bad
