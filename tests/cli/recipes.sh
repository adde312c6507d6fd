#!/usr/bin/env bash
# runtime/recipes.md as it is printed, against what `make install` gives: each block with a file's
# name is that file, each block of sh is run. The Docker image is a root with what its COPY lines
# name and the loader's libraries, where this user may change roots.
set -u
"$BUILD/scripts/find_nvrtc" >/dev/null || { echo "no NVRTC"; exit 77; }
[ -z "${SANITIZED:-}" ] || { echo "programs of others, without sanitizers"; exit 77; }
failed=0
fail() { echo "FAILED: $*"; failed=1; }
manual=$PWD/runtime/recipes.md
root=$TMPDIR/root
make -s BUILD="$BUILD" PREFIX="$root" install >"$TMPDIR/log" 2>&1 || { cat "$TMPDIR/log"; exit 1; }
export PATH=$root/bin:$PATH PKG_CONFIG_PATH=$root/lib/pkgconfig LD_LIBRARY_PATH=$root/lib
mkdir "$TMPDIR/work"
cd "$TMPDIR/work" || exit 1

# files - writes the files of the page.
files() {
    awk '/^```/ { file = !on && NF == 2 ? $2 : ""; on = !on; next }
        on && file != "" { print >file }' "$manual"
}

# run TITLE - runs the commands of a recipe.
run() {
    awk -v title="## $1" '
        /^## / { here = $0 == title }
        /^```/ { on = $0 == "```sh" && here; next }
        on' "$manual" >commands
    [ -s commands ] || fail "no commands: $1"
    TMAGEN_CACHE=$TMPDIR/cache bash -eu commands >said 2>&1 || { fail "$1"; cat said; }
}
# has PATTERN - of what the latest recipe said.
has() { grep -q "$1" said || { fail "no /$1/ in:"; cat said; }; }

files
run 'A C program'
has '^largest error: 0\.'
run 'An FP8 layer with scales of blocks'
has '^largest error: 0\.[01]'

run 'A program that tunes as it starts'
[ "$(grep -c '^tiles_[a-z0-9_]*/1 is the fastest of 3$' said)" = 2 ] || { fail "tunes"; cat said; }

if command -v cmake >/dev/null; then
    run 'A CMake project'
    has '^loaded$'
else
    echo "no cmake"
fi
if command -v meson >/dev/null; then
    run 'A Meson project'
    has '^loaded$'
else
    echo "no meson"
fi

# The image: nothing of the toolkit, of the cache, of the generator.
image=$TMPDIR/image
cp "$root"/lib/libtmagen.so* .
copied=0
while read -r _ line; do
    read -ra words <<<"$line"
    mkdir -p "$image${words[-1]}"
    # shellcheck disable=SC2048,SC2086    # the names are patterns
    cp -P ${words[*]:0:${#words[@]}-1} "$image${words[-1]}" || fail "COPY $line"
    copied=$((copied + 1))
done < <(grep '^COPY ' Dockerfile)
[ $copied = 2 ] || fail "no COPY lines"
ldd layer "$root/lib/libtmagen.so" | grep -o '/[^ ]*' | grep -v tmagen | sort -u |
    while read -r library; do
        [ ! -f "$library" ] || install -D "$library" "$image$library"
    done
if chroot / true 2>"$TMPDIR/log"; then
    ln -s app/layer.tmb "$image/layer.tmb"    # CMD starts in /app, and chroot in /
    LD_LIBRARY_PATH=/usr/local/lib chroot "$image" /app/layer emu >said 2>&1 || fail "the image"
    has '^largest error: 0\.'
else
    echo "no chroot"
fi
exit $failed
