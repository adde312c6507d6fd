#!/usr/bin/env bash
# The man pages and the shells' completion are of this program and these headers: a page for every
# command and function, with every option, sound to groff where it is there.
set -u
failed=0
fail() { echo "FAILED: $*"; failed=1; }
scripts/manual.sh "$TMAGEN" runtime "$TMPDIR/share" || fail "exit code $?"
one=$TMPDIR/share/man/man1 three=$TMPDIR/share/man/man3
completion=$TMPDIR/share/bash-completion/completions/tmagen

mapfile -t commands < <("$TMAGEN" --help | sed -n 's/^  tmagen \([a-z]*\) .*/\1/p')
[ ${#commands[@]} -ge 13 ] || fail "the help names ${commands[*]}"
for command in "${commands[@]}"; do
    page=$one/tmagen-$command.1
    [ -s "$page" ] || { fail "no $page"; continue; }
    grep -q "^.BR tmagen.-$command (1)" "$one/tmagen.1" || fail "tmagen.1 lacks $command"
    options=$("$TMAGEN" "$command" --help | grep -oE '^ .{1,6}--[a-z-]+' | grep -oE -- '--.*')
    twice=$(sort <<<"$options" | uniq -d)
    [ -z "$twice" ] || fail "$command has two of $twice"
    for option in $options; do
        grep -qF -- "${option//-/\\-}" "$page" || fail "$page lacks $option"
    done
done
for function in $(grep -ohE 'tmagen_[a-z_]+\(' runtime/tmagen*.h | tr -d '(' |
    grep -v '_sized$' | sort -u); do
    grep -qx '.so man3/libtmagen.3' "$three/$function.3" || fail "no page of $function"
    grep -q "$function(" "$three/libtmagen.3" || fail "libtmagen.3 lacks $function"
done
! grep -q '_sized(\|TMAGEN_API\|static inline' "$three/libtmagen.3" || fail "the wrappers are shown"
if command -v groff >/dev/null; then
    for page in "$one"/*.1 "$three/libtmagen.3"; do
        groff -man -ww -Tutf8 -z "$page" >"$TMPDIR/said" 2>&1
        [ ! -s "$TMPDIR/said" ] || { fail "$page"; head -3 "$TMPDIR/said"; }
    done
fi

# completes EXPECTED WORD... - what bash offers for the last word.
completes() {
    local expected=$1 given
    shift
    # shellcheck disable=SC1090,SC2034
    given=$(source "$completion"; COMP_WORDS=(tmagen "$@") COMP_CWORD=$#
        _tmagen; echo "${COMPREPLY[*]}")
    [ "$given" = "$expected" ] || fail "tmagen $*: '$given', not '$expected'"
}
completes bundle bun
completes gemm_128x192_bias gemm_128x192_b
completes --ptx gen --p
completes why cache wh
completes verify bundle ver
completes verify cache ver
completes gemm_phase7 bundle gemm_phase7
completes scripts/manual.sh bundle scripts/manu
completes --strict x --str
if command -v fish >/dev/null; then
    fish=$TMPDIR/share/fish/vendor_completions.d/tmagen.fish
    given=$(HOME=$TMPDIR fish -c "source $fish; complete -C 'tmagen bun'" | cut -f 1)
    [ "$given" = bundle ] || fail "fish: '$given'"
    given=$(HOME=$TMPDIR fish -c "source $fish; complete -C 'tmagen gen --pt'" | cut -f 1)
    [ "$given" = --ptx ] || fail "fish: '$given'"
fi

# zsh_completes EXPECTED WORDS - what zsh offers for the last word, at a terminal of its own.
zsh_completes() {
    given=$(timeout 60 zsh -f tests/fixtures/complete.zsh "$TMPDIR/share/zsh/site-functions" "$2")
    [ "$given" = "$1" ] || fail "zsh: tmagen $2: '$given', not '$1'"
}
if command -v zsh >/dev/null; then
    zsh_completes bundle bun
    zsh_completes --ptx 'gen --pt'
    zsh_completes verify 'bundle ver'
    zsh_completes gemm_phase7 'bundle gemm_phase7'
    zsh_completes --strict --stri
    zsh_completes manual.sh 'bundle -o scripts/manu'
fi
exit $failed
