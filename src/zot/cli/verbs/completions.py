"""``zot completions SHELL``: prints a script that calls zot for candidates on each press of tab.

The answer is ``KIND<tab>WORD``, then ``WORD<tab>ABOUT`` per candidate; the shell evaluates none of it.
"""

from __future__ import annotations

import shlex
import sys

from zot.cli.verb_table import SHELLS
from zot.errors import UsageError, ZotError

BASH = """\
# zot: completions for bash. Put this into ~/.bashrc: eval "$(zot completions bash)"
_zot() {
    local kind="" typed="" cut="" word about breaks=${COMP_WORDBREAKS//[^=:]/}
    COMPREPLY=()
    while IFS=$'\\t' read -r word about; do
        if [ -z "$kind" ]; then
            kind=$word typed=$about
            # bash has split the word at these already and wants what follows.
            [ -z "$breaks" ] || cut=${typed%"${typed##*["$breaks"]}"}
        else
            COMPREPLY+=("${word#"$cut"}")
        fi
    done < <("$1" completions --line "${COMP_LINE:0:COMP_POINT}" 2>/dev/null)
}
complete -o default -F _zot zot
"""

ZSH = """\
#compdef zot
# zot: completions for zsh. Put this into ~/.zshrc, after compinit: eval "$(zot completions zsh)"
_zot() {
    local kind="" typed="" word about
    local -a values shown
    while IFS=$'\\t' read -r word about; do
        if [[ -z $kind ]]; then
            kind=$word typed=$about
        else
            values+=("$word")
            shown+=("$word${about:+  -- $about}")
        fi
    done < <("$words[1]" completions --words -- "${(@Q)words[2,CURRENT-1]}" "${(Q)PREFIX}" 2>/dev/null)
    case $kind in
        files|dirs)
            compset -P '--[a-z-]#='
            if [[ $kind == dirs ]]; then _files -/; else _files; fi ;;
        *) compadd -l -d shown -a values ;;
    esac
}
if [[ $funcstack[1] == _zot ]]; then _zot "$@"; else compdef _zot zot; fi
"""

FISH = """\
# zot: completions for fish. zot completions fish > ~/.config/fish/completions/zot.fish
function __zot_complete
    set -l words (commandline -opc)
    set -l zot $words[1]
    set -e words[1]
    set -l typed (commandline -ct)
    set -l lines ($zot completions --words -- $words "$typed" 2>/dev/null)
    set -l flag (string match -r -- '^--[a-z-]+=' "$typed")
    set -l path (string replace -r -- '^--[a-z-]+=' '' "$typed")
    switch "$lines[1]"
        case 'files*'
            printf "$flag%s\\n" (__fish_complete_path "$path")
        case 'dirs*'
            printf "$flag%s\\n" (__fish_complete_directories "$path")
        case '*'
            set -e lines[1]
            printf '%s\\n' $lines
    end
end
complete -c zot -f -a '(__zot_complete)'
"""

SCRIPTS = {"bash": BASH, "zsh": ZSH, "fish": FISH}


def run(argv: list[str]) -> int:
    if argv[:1] in (["--line"], ["--words"]):
        _answer(argv)
        return 0
    if len(argv) != 1 or argv[0] not in SHELLS:
        raise UsageError(f"zot completions: expected a shell: {', '.join(SHELLS)}")
    sys.stdout.write(SCRIPTS[argv[0]])
    return 0


def _answer(argv: list[str]) -> None:
    """Print candidates; errors print nothing, since the user is typing."""
    from zot.cli.completion_candidates import complete
    from zot.system.visible_text import escape_invisible, has_invisible

    words = _split(argv[1]) if argv[0] == "--line" else argv[2:]
    try:
        offer = complete(words)
    except (ZotError, OSError):
        return
    shown = [(word, escape_invisible(about)) for word, about in offer.rows if not has_invisible(word)]
    lines = [(offer.kind, offer.typed), *shown]
    text = "".join(f"{word}\t{about}\n" for word, about in lines)
    sys.stdout.buffer.write(text.encode("utf-8", "replace"))


def _split(line: str) -> list[str]:
    """The words after the command; the last one may be empty, or in an open quote."""
    for closing in ("", '"', "'"):
        lexer = shlex.shlex(line + closing, posix=True, punctuation_chars=False)
        lexer.whitespace_split, lexer.commenters = True, ""
        try:
            words = list(lexer)
        except ValueError:
            continue
        return words[1:] + ([""] if line[-1:].isspace() and not closing else [])
    return [""]
