#!/bin/sh
# Installs below DESTDIR and PREFIX, or removes exactly what that installed.
# A file is written beside its place and then renamed: whoever is interrupted, by whatever, leaves
# each file whole, the old one or the new. The list of them, share/tmagen/installed, is written
# first, so that `uninstall` after that removes all the same; a file that is no longer installed is
# removed by the next `install`.
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

# hide PATH - $hidden is the name that PATH has while it is written.
hide() { hidden=$root/${1%/*}/.${1##*/}.new; }

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
    for file in "$@"; do echo "$mode $folder/${file##*/} $file"; done
}

# plan - what is installed: MODE PATH FILE, or link PATH TARGET, a line each.
plan() {
    each 755 bin "$build/tmagen"
    echo "755 lib/libtmagen.so.$version $build/libtmagen.so"
    echo "link lib/$soname libtmagen.so.$version"
    echo "link lib/libtmagen.so $soname"
    each 644 lib "$build/libtmagen.a"
    each 644 include runtime/tmagen*.h
    each 644 lib/pkgconfig "$made/tmagen.pc"
    each 644 lib/cmake/tmagen scripts/tmagen-config.cmake
    each 644 share/tmagen/specs specs/*.yaml
    find templates -type f ! -name '.*' ! -name '*~' -printf '644 share/tmagen/%p %p\n'
    each 644 share/tmagen/examples tests/example.c tests/experts.py tests/fixtures/app/*
    find "$build/manual" -type f -printf '644 share/%P %p\n'
    find "$made/family" -type f -printf "644 share/tmagen/examples/family/%P %p\n"
}

# put MODE PATH FILE | put link PATH TARGET
put() {
    hide "$2"
    [ -d "${hidden%/*}" ] || mkdir -p "${hidden%/*}"
    if [ "$1" = link ]; then
        ln -sf "$3" "$hidden"
    else
        install -m "$1" "$3" "$hidden"
    fi
    mv -f -T "$hidden" "$root/$2"
}

# take - removes the paths on stdin, a line each, and folders of tmagen's own that are empty then.
take() {
    sort -ru >"$made/take"
    while read -r path; do
        case /$path/ in */../* | //*) continue ;; esac
        hide "$path"
        rm -f "$root/$path" "$hidden"
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
plan >"$made/plan"
{ awk '{ print $2 }' "$made/plan"; echo "$list"; } | sort >"$made/new"
{ cat "$root/$list" 2>/dev/null || true; } | sort >"$made/old"
sort -u "$made/old" "$made/new" >"$made/both"
put 644 "$list" "$made/both"
while read -r mode path file; do put "$mode" "$path" "$file"; done <"$made/plan"
comm -23 "$made/old" "$made/new" | take
put 644 "$list" "$made/new"
