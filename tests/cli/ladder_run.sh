#!/usr/bin/env bash
# ladder from end to end on a stand-in driver that computes what the rungs of
# tests/fixtures/rungs/steps should, each in a time of its own: so every figure, decision and row
# is known beforehand.
set -u
fake=$BUILD/tests/fixtures/fake
export TMAGEN_LIBCUDA=$fake/measured.so TMAGEN_NVRTC=$fake/nvrtc.so
TMAGEN_TEMPLATES=$(realpath tests/fixtures/rungs)
export TMAGEN_TEMPLATES FAKE_GEMM=1
export FAKE_MEMORY=256    # MB: of which inputs are rotated through an eighth
export FAKE_US_steps_phase1=12.5 FAKE_US_steps_phase2=12 FAKE_US_steps_phase4=12
work=$TMPDIR/tree ledger=$TMPDIR/tree/out/EXPERIMENTS.md
mkdir -p "$work/out"
# shellcheck source=tests/checks.sh
. tests/checks.sh
# holds FILE TEXT... - each is there, as it is
holds() {
    local file=$1 text
    shift
    for text; do grep -Fq -- "$text" "$file" || { fail "no '$text' in:"; cat "$file"; }; done
}
# ladder EXIT_CODE ARGUMENT... - runs it in the work folder
ladder() { exits "$1" env -C "$work" "$TMAGEN" ladder "${@:2}" --seconds 0.02; }
# refuses WHY ARGUMENT... - nothing is measured, the ledger stays as it is, nothing else is left
refuses() {
    local why=$1 before
    shift
    before=$(ls -l "$work/out"; cat "$ledger" 2>/dev/null)
    ladder 1 "$@"
    holds "$TMPDIR/err" "$why"
    ! grep -q 'rung 0' "$TMPDIR/out" || fail "went on: $*"
    [ "$before" = "$(ls -l "$work/out"; cat "$ledger" 2>/dev/null)" ] || fail "ledger changed: $*"
}

# all rungs, two shapes; what is around the section stays
printf '# By hand\n\n<!-- ladder %s -->\nold\n<!-- ladder %s -->\n\nafter' \
    'steps: begin' 'steps: end' >"$ledger"
ladder 0 steps --shape 64x64x64 --shape 40x24x16
holds "$TMPDIR/out" 'rung 0, plain' 'steps_phase4  64x64x64' \
    'Fake H200 0, 132 SMs: the ladder of steps'
# shellcheck disable=SC2016
holds "$ledger" '# By hand' \
    '`tmagen ladder steps --shape 64x64x64 --shape 40x24x16 --seconds 0.02` on Fake H200 0, 132' \
    '| 0 | plain: as it comes |  | bf16 64x64x64 |  | 0.02 |  |  | 1 | the first |' \
    '| 1 | first trick: with a \| bar | +50% | bf16 64x64x64 | 0.02 | 0.0125 | 1.600 [1.600' \
    '| 0.02 | 0.0125 | 1.600 [1.600, 1.600] | +-0.000 | 1.6 | keep |' \
    '| 2 |  |  | bf16 40x24x16 | 0.0125 | 0.012 | 1.042 [1.042, 1.042] | +-0.000 | 1.667 | keep' \
    '| 4 |  |  | all 2 |  |  |  |  |  | not clear: leave out |'
ends="$(head -n 1 "$ledger")$(tail -n 1 "$ledger")"
[ "$ends" = "# By handafter" ] || fail "the text around the section: $ends"
[ "$(grep -c '^old$' "$ledger")" = 0 ] || fail "the old section is there still"
[ "$(ls -A "$work/out")" = EXPERIMENTS.md ] || fail "files are left: $(ls -A "$work/out")"

# again: the same bytes
cp "$ledger" "$TMPDIR/first"
ladder 0 steps --shape 64x64x64 --shape 40x24x16
cmp "$ledger" "$TMPDIR/first" || fail "a second run records something else"

# a slower rung; part of the ladder; shapes of a file, whose folder is nobody's business
printf '# three\nbf16 64 64 64\nfp16 64 64 64\n' >"$work/shapes"
FAKE_US_steps_phase2=14 ladder 0 steps --from 1 --to 2 --shapes "$work/shapes"
holds "$ledger" '| 0.0125 | 0.014 | 0.893 [0.893, 0.893] | +-0.000 | 0.8929 | revert |' \
    'tmagen ladder steps --shapes shapes --seconds 0.02 --from 1 --to 2'
! grep -q '^| [04] ' "$ledger" || fail "rungs that were not asked for"

# a wrong rung is recorded and not measured; the next one is measured against the last that is right
FAKE_WRONG=steps_phase1 ladder 1 steps --shape 64x64x64
holds "$TMPDIR/out" 'steps_phase1  64x64x64                WRONG'
holds "$ledger" '|  |  |  |  |  |  | WRONG: not measured; see tmagen verify |' \
    '| 0.02 | 0.012 | 1.667 [1.667, 1.667] | +-0.000 | 1.667 | keep (against rung 0) |'

# without shapes: verified on many, measured on the typical one
(unset FAKE_GEMM; ladder 1 steps --to 1)
[ "$(grep -c WRONG "$TMPDIR/out")" -ge 10 ] || fail "too few shapes are verified"
holds "$TMPDIR/out" 'nothing measured: the ladder of steps'

# a rung's own spec file goes first, where it is what its name says
mkdir -p "$work/specs"
printf 'kernel: steps\nphase: 1\nname: from_file\n' >"$work/specs/steps_phase1.yaml"
FAKE_US_from_file=5 ladder 0 steps --to 1 --shape 64x64x64
holds "$ledger" '| 0.02 | 0.005 | 4.000 [4.000, 4.000] |'
printf 'kernel: steps\nphase: 2\n' >"$work/specs/steps_phase1.yaml"
refuses 'rung 1: specs/steps_phase1.yaml is another rung' steps
rm -r "$work/specs"

# what cannot be climbed
refuses 'there is no family nothing' nothing
refuses 'there is no family ../steps' ../steps
refuses 'must be one kernel, and is a sweep' steps --set 'trick=[none, first]'
refuses 'phase is not what its name says' steps --set phase=2
refuses 'at least two must be asked for' steps --from 2 --to 2
refuses 'steps is written with 3 numbers: m n k' steps --shape 64x64
printf 'fp16 64 64 64\n' >"$work/shapes"
refuses 'no shape is for these kernels' steps --shapes shapes

# ledgers that are damaged, too large, no files, or not to be written, seen before anything runs
for text in '<!-- ladder steps: begin -->' '<!-- ladder gemm: end -->' '<!-- ladder steps -->'; do
    printf 'by hand\n%s\n' "$text" >"$ledger"
    refuses 'is damaged, and left as it is: line 2' steps
done
rm "$ledger"
refuses 'there is no ledger out/EXPERIMENTS.md' steps
mkdir "$ledger"
refuses 'it is a folder' steps
rmdir "$ledger"
mkfifo "$work/fifo"
refuses 'it is no regular file' steps --ledger fifo
refuses 'it is no regular file' steps --ledger /dev/null
truncate -s 5M "$work/huge"
refuses 'the file is too large' steps --ledger huge
name=$(printf 'x%.0s' {1..252})
: >"$work/$name"
printf 'mine\n' >"$ledger"
refuses 'cannot write the ledger' steps --ledger "$name"

# a link stays a link
printf 'mine\n' >"$work/notes.md"
ln -sf ../notes.md "$ledger"
ladder 0 steps --to 1 --shape 64x64x64
[ -L "$ledger" ] || fail "the link became a file"
holds "$work/notes.md" mine '| first trick'

# no GPU: nothing is recorded
cp "$work/notes.md" "$TMPDIR/first"
TMAGEN_LIBCUDA=/nowhere/libcuda.so ladder 3 steps --shape 64x64x64
holds "$TMPDIR/err" 'no CUDA driver'
FAKE_LAUNCH=error ladder 1 steps --to 1 --shape 64x64x64 --ledger "$work/shapes"
cmp "$work/notes.md" "$TMPDIR/first" || fail "recorded without a GPU"
ladder 2
ladder 2 steps --device emu
exit $failed
