#!/bin/sh
# Makes man pages and shell completion out of what is said once already: the help of the program and
# of its commands, and the comments of the library's headers.
#
# usage: scripts/manual.sh TMAGEN HEADERS SHARE
#   TMAGEN is the program, HEADERS the folder of tmagen*.h. Writes SHARE/man/man1/tmagen*.1,
#   SHARE/man/man3/libtmagen.3 with a page for each function that points there, and
#   SHARE/bash-completion/completions/tmagen, SHARE/fish/vendor_completions.d/tmagen.fish and
#   SHARE/zsh/site-functions/_tmagen.
# shellcheck disable=SC2016    # what other shells are to expand
set -eu
program=$1
headers=$2
share=$3
one=$share/man/man1
three=$share/man/man3
bash=$share/bash-completion/completions
fish=$share/fish/vendor_completions.d
zsh=$share/zsh/site-functions
mkdir -p "$one" "$three" "$bash" "$fish" "$zsh"
version=$("$program" --version)

# An option is one line of help, however long what is said of it.
export ARGP_HELP_FMT=rmargin=99999,opt-doc-col=60,no-dup-args-note

# help COMMAND - of a command; of none: of bare specs.
help() { "$program" "${1:-SPEC}" --help </dev/null; }

tab=$(printf '\t')

# commands - each with what is said of it behind a tab.
commands() {
    "$program" --help | sed -n 's/^  tmagen \([a-z][a-z]*\) .*  \([^ ].*\)$/\1\t\2/p'
}

# Text as roff has it.
escape='
    function escape(text) {
        gsub(/\\/, "\\e", text)
        gsub(/-/, "\\-", text)
        return text ~ /^[.\047]/ ? "\\&" text : text
    }'

# page NAME DOC - a page of section 1 from help on stdin: usage, what it does, options, notes.
page() {
    awk -v name="$1" -v doc="$2" -v version="$version" "$escape"'
        function section(title) {
            if (verbatim) print ".EE"
            verbatim = 0
            print ".SH " title
        }
        BEGIN {
            printf ".TH %s 1 \"\" \"%s\" \"User Commands\"\n", toupper(name), version
            section("NAME")
            print escape(name) " \\- " escape(doc)
            section("SYNOPSIS")
        }
        /^(Usage:|  or: )/ {
            sub(/^(Usage:|  or: ) */, "")
            print (used++ ? ".br\n" : "") ".B " escape($0)
            next
        }
        !described { section("DESCRIPTION"); described = 1 }
        paragraph && !/^ +-/ && !options { print ".PP" }
        { paragraph = 0 }
        /^ +(-.(, )?)?(--[a-z])?.*   / && match($0, /^ +-[^ ]+( --[^ ]+)?/) && !noted {
            if (!options++) section("OPTIONS")
            option = substr($0, 1, RLENGTH)
            text = substr($0, RLENGTH + 1)
            sub(/^ */, "", option)
            sub(/^ */, "", text)
            print ".TP\n.B " escape(option) "\n" escape(text)
            next
        }
        /^$/ && !noted { blank = options; paragraph = 1; next }
        options && blank && !noted { section("NOTES"); noted = 1 }
        noted && /^ / && !verbatim { print ".EX"; verbatim = 1 }
        noted && !/^ / && verbatim { print ".EE"; verbatim = 0 }
        { print escape($0) }
        END {
            section("EXIT STATUS")
            print "0 done, 1 the input is wrong or a check failed, 2 usage, 3 the machine lacks"
            print "a driver, GPU or NVRTC."
            if (ENVIRON["COMMANDS"] != "") section("COMMANDS")
            if (ENVIRON["COMMANDS"] != "") print ENVIRON["COMMANDS"]
            section("SEE ALSO")
            print ".BR tmagen (1),\n.BR libtmagen (3)"
        }'
}

# The page of the library, section by section of its headers: what is declared, then what is said
# of it. Functions that the headers wrap, to pass sizes, are shown as they are called.
library() {
    awk -v version="$version" "$escape"'
        function flush(   i) {
            if (codes) {
                print ".PP\n.EX"
                for (i = 1; i <= codes; i++) print escape(code[i])
                print ".EE"
            }
            if (said != "") print ".PP\n" escape(said)
            codes = 0
            said = ""
        }
        function take_comment(text) {
            gsub(/^\/\* ?|^ ?\* ?| ?\*\/$/, "", text)
            if (match(text, /^---- .* ----/)) {
                print ".SH " escape(toupper(substr(text, 6, RLENGTH - 10)))
                text = substr(text, RLENGTH + 2)
            }
            if (text == "") return
            said = said (said == "" ? "" : " ") text
        }
        BEGIN {
            printf ".TH LIBTMAGEN 3 \"\" \"%s\" \"Library Functions\"\n", version
            print ".SH NAME\nlibtmagen \\- load and launch the kernels that tmagen generates"
            print ".SH SYNOPSIS\n.B #include <tmagen.h>\n.PP\nLink with \\fI\\-ltmagen\\fR."
            print ".SH DESCRIPTION"
        }
        FNR == 1 { flush() }
        /^#/ { while (/\\$/ && (getline > 0)); next }
        /^extern "C"|^}$/ && !wrapper { next }
        comment { take_comment($0); if (/\*\//) comment = 0; next }
        /^\/\*/ { flush(); take_comment($0); comment = !/\*\//; next }
        wrapper == 2 { if (/^}/) wrapper = 0; next }
        sized { if (/;$/) sized = 0; next }
        /^TMAGEN_API .*_sized\(/ { sized = !/;$/; next }
        /^$/ { flush(); next }
        {
            sub(/^TMAGEN_API /, "")
            if (sub(/^static inline /, "")) wrapper = 1
            if (wrapper == 1 && sub(/ \{$/, ";")) wrapper = 2
            code[++codes] = $0
        }
        END { flush(); print ".SH SEE ALSO\n.BR tmagen (1)" }' "$headers"/tmagen.h \
        "$headers"/tmagen_*.h
}

# functions - the names of those that the headers declare or wrap.
functions() {
    cat "$headers"/tmagen*.h | tr '\n' ' ' |
        grep -oE '(TMAGEN_API|static inline) [a-z_0-9 ]+[ *]tmagen_[a-z0-9_]+\(' |
        grep -oE 'tmagen_[a-z0-9_]+\(' | tr -d '(' | grep -v '_sized$' | sort -u
}

# options COMMAND - its long options, each with its argument and what is said of it, tabs between.
options() {
    help "$1" | sed -nE 's/^ *(-., )?--([a-z-]+)\[?=?([^ ]*) +([^ ].*)$/\2\t\3\t\4/p'
}

# actions COMMAND - the words that stand in the place of its first argument.
actions() {
    { "$program" --help | grep "^  tmagen $1 "; help "$1" | grep -E '^(Usage:|  or: )'
      help "$1" | sed -n 's/^  \([a-z]*\)  .*/\1 |/p'; } |
        grep -oE '[a-z]+(\|[a-z]+)+|^[a-z]+ \|$' | tr -d ' ' | tr '|' '\n' | grep . | sort -u
}

complete_bash() {
    echo "# Completion of tmagen's commands, options and specs in bash."
    echo '_tmagen() {'
    echo '    local word=${COMP_WORDS[COMP_CWORD]} words= specs=(specs/*.yaml)'
    echo '    specs=("${specs[@]#specs/}")'
    echo '    case $COMP_CWORD:${COMP_WORDS[1]} in'
    printf '    1:*) words="%s --help --version ${specs[*]%%.yaml}" ;;\n' \
        "$(commands | cut -f 1 | tr '\n' ' ' | sed 's/ $//')"
    for command in $(commands | cut -f 1); do
        printf '    *:%s) words="%s ${specs[*]%%.yaml}" ;;\n' "$command" \
            "$({ options "$command" | cut -f 1 | sed 's/^/--/'; actions "$command"; } |
                tr '\n' ' ' | sed 's/ $//')"
    done
    printf '    *) words="%s ${specs[*]%%.yaml}" ;;\n' \
        "$(options '' | cut -f 1 | sed 's/^/--/' | tr '\n' ' ' | sed 's/ $//')"
    echo '    esac'
    echo '    mapfile -t COMPREPLY < <(compgen -W "$words" -- "$word"; compgen -f -- "$word")'
    echo '}'
    echo 'complete -o filenames -F _tmagen tmagen'
}

# quote TEXT - as fish has it.
quote() { printf "'%s'" "$(printf %s "$1" | sed "s/[\\\\']/\\\\&/g")"; }

# zsh_text TEXT - as _arguments and _describe of zsh have it, within single quotes.
zsh_text() { printf %s "$1" | sed -E "s/[]:\\\\[]/\\\\&/g; s/'/'\\\\''/g"; }

complete_fish() {
    echo "# Completion of tmagen's commands and options in fish."
    commands | while IFS="$tab" read -r command doc; do
        echo "complete -c tmagen -n __fish_use_subcommand -a $command -d $(quote "$doc")"
        for action in $(actions "$command"); do
            echo "complete -c tmagen -n '__fish_seen_subcommand_from $command' -a $action"
        done
        options "$command" | while IFS="$tab" read -r option argument said; do
            [ -n "$said" ] || { said=$argument; argument=; }
            echo "complete -c tmagen -n '__fish_seen_subcommand_from $command' -l $option" \
                "${argument:+-r }-d $(quote "$said")"
        done
    done
}

# zsh_options COMMAND - a word of _arguments for each option, a line each.
zsh_options() {
    options "$1" | while IFS="$tab" read -r option argument said; do
        [ -n "$said" ] || { said=$argument; argument=; }
        printf "        '*--%s%s[%s]%s' \\\\\n" "$option" "${argument:+=}" "$(zsh_text "$said")" \
            "${argument:+:$(zsh_text "$argument"):_files}"
    done
}

complete_zsh() {
    echo '#compdef tmagen'
    echo "# Completion of tmagen's commands, options and specs in zsh."
    echo '_tmagen_words() {'
    echo '    local -a specs=(specs/*.yaml(N:t:r))'
    echo '    (( $# )) && compadd -- "$@"'
    echo '    (( $#specs )) && compadd -- $specs'
    echo '    _files'
    echo '}'
    echo 'local -a commands=('
    commands | while IFS="$tab" read -r command doc; do
        echo "    '$command:$(zsh_text "$doc")'"
    done
    echo ')'
    echo 'if (( CURRENT == 2 )) && [[ $words[2] != -* ]]; then'
    echo "    _describe command commands"
    echo '    _tmagen_words'
    echo '    return'
    echo 'fi'
    echo '(( CURRENT > 2 )) && { shift words; (( CURRENT-- )) }'
    echo 'case $words[1] in'
    { commands | cut -f 1; echo; } | while read -r command; do
        echo "${command:-*})"
        printf '    _arguments \\\n'
        zsh_options "$command"
        echo "        '*: :_tmagen_words $(actions "$command" | tr '\n' ' ' | sed 's/ $//')' ;;"
    done
    echo 'esac'
}

COMMANDS=$(commands | awk -F '\t' "$escape"'{ print ".TP\n.BR tmagen\\-" $1 " (1)\n" escape($2) }')
export COMMANDS
help '' | page tmagen 'makes warp-specialised CUDA kernels from YAML specs' >"$one/tmagen.1"
unset COMMANDS
commands | while IFS="$(printf '\t')" read -r command doc; do
    help "$command" | page "tmagen-$command" "$doc" >"$one/tmagen-$command.1"
done
library >"$three/libtmagen.3"
for function in $(functions); do echo '.so man3/libtmagen.3' >"$three/$function.3"; done
complete_bash >"$bash/tmagen"
complete_fish >"$fish/tmagen.fish"
complete_zsh >"$zsh/_tmagen"
