#!/bin/bash
# What `make install` gives: applications against it, in C and C++, shared and static, by
# pkg-config, CMake and Meson; the program from anywhere; and what kills, further installs and
# `make uninstall` leave. The application is tests/example.c; here it must only start.
set -u
[ -z "${SANITIZED:-}" ] || { echo "what is installed is the same without sanitizers"; exit 77; }
export DESTDIR=$TMPDIR/root
prefix=/opt/tmagen
at=$DESTDIR$prefix
lib=$at/lib
fail() { echo "$*"; exit 1; }
make_() { make -s BUILD="$BUILD" PREFIX=$prefix "$@" >"$TMPDIR/make.log" 2>&1; }

# ---- Installing; what is not ours stays
mkdir -p "$at/lib/cmake" "$at/share"
echo theirs >"$at/share/theirs"
make_ install || fail "$(cat "$TMPDIR/make.log")"
(cd "$at" && find . ! -type d ! -name theirs | sed 's|^./||' | sort) >"$TMPDIR/there"
diff "$at/share/tmagen/installed" <({ grep -v theirs "$TMPDIR/there"; } | sort) ||
    fail "the list is not what is there"
for file in share/tmagen/specs/gemm_64x64.yaml share/tmagen/templates/ptx/mbarrier.cuh \
    share/tmagen/templates/gemm/family.lua share/tmagen/examples/example.c \
    share/tmagen/examples/experts.py \
    share/tmagen/examples/family/templates/scale/family.lua include/tmagen_signature.h; do
    [ -f "$at/$file" ] || fail "no $file"
done
readelf -d "$lib/libtmagen.so" | grep -q 'SONAME.*\[libtmagen.so.0\]' || fail "another soname"
[ "$(readlink "$lib/libtmagen.so")" = libtmagen.so.0 ] || fail "no link of development"
[ -f "$lib/$(readlink "$lib/libtmagen.so.0")" ] || fail "no library behind its soname"

# ---- Applications
export PKG_CONFIG_PATH=$lib/pkgconfig PKG_CONFIG_SYSROOT_DIR=$DESTDIR LD_LIBRARY_PATH=$lib
starts() { # PROGRAM - it does, and says what it lacks
    TMAGEN_LIBCUDA=/nonexistent "$1" cuda 2>&1 | grep -q 'no CUDA driver' ||
        fail "$1 does not start"
}
cp tests/example.c "$TMPDIR/example.c"
printf '%s\n' '#include <tmagen.h>' '#include <cstdio>' 'int main() {' \
    'tmagen_device *device = nullptr;' 'int status = tmagen_device_open("cuda", &device);' \
    'tmagen_launch launch = {}; size_t bytes;' \
    'if (!tmagen_kernel_workspace(nullptr, &launch, &bytes)) return 2;' \
    'if (status) tmagen_device_open("cuda", &device), std::puts(tmagen_error_last());' \
    'tmagen_device_close(device); }' >"$TMPDIR/example.cpp"
# shellcheck disable=SC2046
for language in c cpp; do
    cc=cc
    [ $language = c ] || cc=c++
    command -v $cc >/dev/null || continue
    source=$TMPDIR/example.$language
    $cc -Wall -Wextra -Werror -o "$TMPDIR/shared_$language" "$source" \
        $(pkg-config --cflags --libs tmagen) || fail "$language, shared"
    starts "$TMPDIR/shared_$language"
    $cc -o "$TMPDIR/static_$language" "$source" $(pkg-config --cflags tmagen) \
        -Wl,-Bstatic $(pkg-config --libs tmagen) -Wl,-Bdynamic -lm -ldl -lpthread ||
        fail "$language, static"
    starts "$TMPDIR/static_$language"
done
readelf -d "$TMPDIR/static_c" | grep NEEDED | grep -vE 'libc\.|libm\.|libasan|libubsan|ld-linux' &&
    fail "the static application needs more than libc"
strangers=$({
    nm -D --defined-only "$lib/libtmagen.so"
    nm -g --defined-only "$lib/libtmagen.a"
} | awk 'NF == 3 && $2 != "A" && $3 !~ /^(tmagen_|__(odr_)?asan)/ { print $3 }')
[ -z "$strangers" ] || fail "the libraries export $strangers"

if command -v cmake >/dev/null; then
    cp -r "$at/share/tmagen/examples" "$TMPDIR/cmake"
    {
        cmake -S "$TMPDIR/cmake" -B "$TMPDIR/cmake/build" -DCMAKE_PREFIX_PATH="$at"
        cmake --build "$TMPDIR/cmake/build"
    } >"$TMPDIR/log" || fail "CMake: $(cat "$TMPDIR/log")"
    starts "$TMPDIR/cmake/build/example"
fi
if command -v meson >/dev/null; then
    cp -r "$at/share/tmagen/examples" "$TMPDIR/meson"
    {
        meson setup "$TMPDIR/meson/build" "$TMPDIR/meson"
        meson compile -C "$TMPDIR/meson/build"
    } >"$TMPDIR/log" || fail "Meson: $(cat "$TMPDIR/log")"
    starts "$TMPDIR/meson/build/example"
fi

# ---- The program, from anywhere: its templates are inside, the specs beside it
mkdir "$TMPDIR/anywhere"
(
    cd "$TMPDIR/anywhere" || exit 1
    "$at/bin/tmagen" gen gemm_64x64 >/dev/null || fail "the installed program finds no spec"
    "$at/bin/tmagen" gen no_such 2>/dev/null && fail "a spec that is nowhere"
    # a family's tables too; of two of one name that of this folder, as of specs
    tables() { "$at/bin/tmagen" explain gemm --shape 64x64x64 | grep -o '^gemm_.* on'; }
    [ "$(tables | tr '\n' ' ')" = 'gemm_bf16_h200 on gemm_fp16_h200 on gemm_fp8_h200 on ' ] ||
        fail "explain gemm: $(tables)"
    mkdir specs
    printf 'dispatch: gemm\ngpu: nvidia_h200\nkernels: [gemm_64x64]\n' >specs/gemm_fp8_h200.yaml
    cp "$at/share/tmagen/specs/gemm_64x64.yaml" specs
    [ "$(tables | tr '\n' ' ')" = 'gemm_fp8_h200 on gemm_bf16_h200 on gemm_fp16_h200 on ' ] ||
        fail "explain gemm, one of our own: $(tables)"
    rm -r specs
    cmp out/gemm_64x64.cu "$OLDPWD/out/gemm_64x64.cu" || exit 1
    cd "$at/share/tmagen/examples/family" || exit 1
    "$at/bin/tmagen" gen --templates templates -o "$TMPDIR/family" specs/scale.yaml >/dev/null ||
        fail "the example family"
) || exit 1
version=$("$at/bin/tmagen" --version)
[ "$version" = "tmagen $(pkg-config --modversion tmagen)" ] || fail "--version says $version"

# ---- Kills in the midst of a file: what is there is whole, and the next run completes it
whole=$TMPDIR/whole
cp -a "$at" "$whole"
mkdir "$TMPDIR/shim"
# shellcheck disable=SC2016
printf '%s\n' '#!/bin/sh' 'case " $* " in *"/$VICTIM "*)' \
    'to=$4; shift 4; for file; do head -c 100 "$file" >"$to/${file##*/}"; done' \
    'echo killed >"$TMPDIR/killed"; kill -KILL $PPID;; esac' \
    'exec /usr/bin/install "$@"' >"$TMPDIR/shim/install"
# shellcheck disable=SC2016
printf '%s\n' '#!/bin/sh' 'case "$VICTIM $*" in "link "*-T*)' \
    'echo killed >"$TMPDIR/killed"; kill -KILL $PPID; exit;; esac' \
    'exec /usr/bin/mv "$@"' >"$TMPDIR/shim/mv"
chmod +x "$TMPDIR"/shim/*
for victim in tmagen libtmagen.a example.c installed link; do
    rm -f "$at/share/tmagen/specs/gemm_64x64.yaml" "$TMPDIR/killed"
    VICTIM=$victim PATH=$TMPDIR/shim:$PATH make_ install && fail "$victim: was not killed"
    [ -f "$TMPDIR/killed" ] || fail "$victim: $(cat "$TMPDIR/make.log")"
    diff -rq -x .tmagen.new "$at" "$whole" | grep differ && fail "half written after a kill"
    [ -z "$(find "$at" -name '*.so*.new')" ] || fail "a link that uninstall does not know"
done

# ---- Another version's file goes with the next install, and all of ours with the last
echo old >"$at/share/tmagen/old"
echo share/tmagen/old >>"$at/share/tmagen/installed"
make_ install || fail "$(cat "$TMPDIR/make.log")"
diff -r "$at" "$whole" || fail "an install after kills differs"
make_ uninstall || fail "$(cat "$TMPDIR/make.log")"
left=$(cd "$at" && find . ! -type d; find . -path '*/tmagen*')
[ "$left" = ./share/theirs ] || fail "uninstall leaves $left"
make_ uninstall && fail "uninstalled twice"
exit 0
