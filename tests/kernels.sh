# shellcheck shell=bash
# What scripts that run kernels on the emulator share; they source it. Without NVRTC they are
# skipped, and what they compile stays in $KERNELS, for all of them.
# SCHEDULES is how many orders of warps and copies a shape has; 1. SEED is that of the inputs; 1:
# a change is judged by what the one before it was, and SEED=2 make test-emu looks at others.
"$BUILD/scripts/find_nvrtc" >/dev/null || { echo "no NVRTC"; exit 77; }
export TMAGEN_CACHE=$KERNELS

# right ARGUMENT... - verify finds all of it right, or the script ends with what is not.
right() {
    local seed=(--seed "${SEED:-1}")
    [[ " $* " != *" --against "* ]] || seed=()    # a record has its own
    "$TMAGEN" verify --device emu --schedules "${SCHEDULES:-1}" "${seed[@]}" -o "$TMPDIR/out" "$@" \
        >"$TMPDIR/table" 2>&1 || { grep -v ' ok ' "$TMPDIR/table"; exit 1; }
    tail -n 1 "$TMPDIR/table"
}

# due - of a script's calls one in five is made under sanitizers, which are ten times as slow and
# look at our C, which all kernels run alike.
calls=0
due() {
    calls=$((calls + 1))
    [ -z "${SANITIZED:-}" ] || [ $((calls % 5)) = 1 ]
}

# verify ARGUMENT... - right, where it is due.
verify() {
    ! due || right "$@"
}

# noticed FILES EDIT ARGUMENT... - with sed's EDIT of each of FILES of the templates verify finds
# something wrong, by itself or by the reference.
noticed() {
    local files=$1 edit=$2 file
    shift 2
    rm -rf "$TMPDIR/templates"
    for file in $files; do
        mkdir -p "$TMPDIR/templates/${file%/*}"
        sed "$edit" "templates/$file" >"$TMPDIR/templates/$file"
        ! cmp -s {,"$TMPDIR/"}"templates/$file" ||
            { echo "nothing to edit in $file: $edit"; exit 1; }
    done
    ! "$TMAGEN" verify --templates "$TMPDIR/templates" --device emu:1 \
        --schedules "${SCHEDULES:-1}" --seed "${SEED:-1}" -o "$TMPDIR/out" "$@" \
        >"$TMPDIR/table" 2>&1 ||
        { echo "not noticed in $files: $edit"; exit 1; }
    grep -q -e WRONG -e BROKEN -e race "$TMPDIR/table" || { cat "$TMPDIR/table"; exit 1; }
}
