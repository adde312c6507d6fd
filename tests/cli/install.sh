#!/bin/sh
# An application against the installed library, static and shared, which exports only tmagen_*.
# The application is tests/example.c, which README shows; here it must only compile, link and start.
set -eu
root=$TMPDIR/root
make -s BUILD="$BUILD" DESTDIR="$root" PREFIX=/opt/tmagen install >"$TMPDIR/install.log" 2>&1 || {
    cat "$TMPDIR/install.log"
    exit 1
}
lib=$root/opt/tmagen/lib
export PKG_CONFIG_PATH="$lib/pkgconfig" PKG_CONFIG_SYSROOT_DIR="$root"
flags=${SANITIZED:+-fsanitize=address,undefined}

# shellcheck disable=SC2046,SC2086
cc $flags -o "$TMPDIR/shared" tests/example.c $(pkg-config --cflags --libs tmagen) \
    -Wl,-rpath,"$lib"
# shellcheck disable=SC2046,SC2086
cc $flags -o "$TMPDIR/static" tests/example.c $(pkg-config --cflags tmagen) "$lib/libtmagen.a" \
    -ldl -lpthread -lm
readelf -d "$TMPDIR/static" | grep NEEDED | grep -vE 'libc\.|libm\.|libasan|libubsan|ld-linux' && {
    echo "the static application needs more than libc"
    exit 1
}
strangers=$({
    nm -D --defined-only "$lib/libtmagen.so"
    nm -g --defined-only "$lib/libtmagen.a"
} | awk 'NF == 3 && $3 !~ /^(tmagen_|__(odr_)?asan)/ { print $3 }')
[ -z "$strangers" ] || { echo "the libraries export $strangers"; exit 1; }
version=$("$root/opt/tmagen/bin/tmagen" --version)
[ "$version" = "tmagen $(pkg-config --modversion tmagen)" ] || {
    echo "tmagen --version says $version"
    exit 1
}
