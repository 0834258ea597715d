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
            printf "$flag%s\n" (__fish_complete_path "$path")
        case 'dirs*'
            printf "$flag%s\n" (__fish_complete_directories "$path")
        case '*'
            set -e lines[1]
            printf '%s\n' $lines
    end
end
complete -c zot -f -a '(__zot_complete)'
