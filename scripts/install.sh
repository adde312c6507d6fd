#!/bin/sh
# Installs below DESTDIR and PREFIX, or removes exactly what that installed.
# Files are written in a folder beside their place and then renamed: whoever is interrupted, by
# whatever, leaves each file whole, the old one or the new. The list of them,
# share/tmagen/installed, is written first, so that `uninstall` after that removes all the same; a
# file that is no longer installed is removed by the next `install`.
#
# usage: scripts/install.sh install BUILD PREFIX VERSION SONAME
#        scripts/install.sh uninstall - PREFIX - -
set -eu
action=$1 build=$2 prefix=$3 version=$4 soname=$5
root=${DESTDIR:-}$prefix
list=share/tmagen/installed
made=$(mktemp -d)
trap 'rm -rf "$made"' EXIT
trap 'exit 1' HUP INT TERM

hidden=.tmagen.new    # the folder beside their place in which files are written

# pkgconfig - the text of tmagen.pc.
pkgconfig() {
    # shellcheck disable=SC2016
    printf '%s\n' "prefix=$prefix" '' 'Name: tmagen' "Version: $version" \
        'Description: Loads and launches kernels that tmagen generated' \
        'Cflags: -I"${prefix}/include"' 'Libs: -L"${prefix}/lib" -ltmagen' \
        'Libs.private: -lm -ldl -lpthread'
}

# each MODE FOLDER FILE... - lines of the plan: FILEs, whose names are kept below FOLDER.
each() {
    mode=$1 folder=$2
    shift 2
    for file in "$@"; do echo "$mode $folder $file"; done
}

# above - the same lines with a file's folder in the place of its path, by folder.
above() { sed -E 's|/[^/ ]* | |' | sort; }

# plan - what is installed, but the links: MODE FOLDER FILE, a line each.
plan() {
    each 755 bin "$build/tmagen"
    each 755 lib "$made/libtmagen.so.$version"
    each 644 lib "$build/libtmagen.a"
    each 644 include runtime/tmagen*.h
    each 644 lib/pkgconfig "$made/tmagen.pc"
    each 644 lib/cmake/tmagen scripts/tmagen-config.cmake
    each 644 share/tmagen/specs specs/*.yaml
    find templates -type f ! -name '.*' ! -name '*~' -printf '644 share/tmagen/%h %p\n' | sort
    each 644 share/tmagen/examples tests/example.c tests/experts.py tests/fixtures/app/*
    find "$build/manual" -type f -printf '644 share/%P %p\n' | above
    find "$made/family" -type f -printf "644 share/tmagen/examples/family/%P %p\n" | above
}

# put MODE FOLDER FILE... - FILEs, whose names are kept, all at once.
put() {
    put_mode=$1 there=$root/$2
    shift 2
    rm -rf "${there:?}/$hidden"    # of an install that was interrupted
    mkdir -p "$there/$hidden"
    install -m "$put_mode" -t "$there/$hidden" "$@"
    mv -f -t "$there" "$there/$hidden"/*
    rmdir "$there/$hidden"
}

# put_all - the plan on stdin, in which a folder's FILEs of one MODE stand together.
put_all() {
    mode='' folder=''
    set --
    while read -r next_mode next_folder file; do
        if [ "$next_mode $next_folder" != "$mode $folder" ]; then
            [ $# = 0 ] || put "$mode" "$folder" "$@"
            mode=$next_mode folder=$next_folder
            set --
        fi
        set -- "$@" "$file"
    done
    put "$mode" "$folder" "$@"
}

# take - removes the paths on stdin, a line each, and folders of tmagen's own that are empty then.
take() {
    sort -ru >"$made/take"
    while read -r path; do
        case /$path/ in */../* | //*) continue ;; esac
        rm -f "$root/$path"
        [ ! -d "$root/${path%/*}/$hidden" ] || rm -r "${root:?}/${path%/*}/$hidden"
    done <"$made/take"
    awk -F / '{ path = $1
                for (i = 2; i < NF; i++) {
                    path = path "/" $i
                    if (path ~ /\/tmagen/) print path
                } }' \
        "$made/take" | sort -ru | while read -r folder; do
        rmdir "$root/$folder" 2>/dev/null || true
    done
}

if [ "$action" = uninstall ]; then
    [ -f "$root/$list" ] || { echo "nothing is installed below $root" >&2; exit 1; }
    take <"$root/$list"
    exit 0
fi

program=$(realpath "$build/tmagen")
mkdir "$made/family"
(cd "$made/family" && "$program" new scale) >/dev/null
pkgconfig >"$made/tmagen.pc"
ln -s "$(realpath "$build/libtmagen.so")" "$made/libtmagen.so.$version"
plan >"$made/plan"
{
    sed -E 's|^[0-9]+ ([^ ]*) .*/|\1/|' "$made/plan"
    printf '%s\n' "$list" "lib/$soname" lib/libtmagen.so
} | sort >"$made/new"
{ cat "$root/$list" 2>/dev/null || true; } | sort >"$made/old"
put_list() {
    cp "$1" "$made/${list##*/}"
    put 644 "${list%/*}" "$made/${list##*/}"
}
sort -u "$made/old" "$made/new" >"$made/both"
put_list "$made/both"
put_all <"$made/plan"
for link in "lib/$soname libtmagen.so.$version" "lib/libtmagen.so $soname"; do
    mkdir -p "$root/lib/$hidden"
    ln -sfT "${link#* }" "$root/lib/$hidden/link"
    mv -f -T "$root/lib/$hidden/link" "$root/${link%% *}"
    rmdir "$root/lib/$hidden"
done
comm -23 "$made/old" "$made/new" | take
put_list "$made/new"
