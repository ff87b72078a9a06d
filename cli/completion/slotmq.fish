# fish completion of slotmq(1), as printed by: slotmq completion fish
function __slotmq_complete
    set -l words (commandline -opc)
    set -l typed (commandline -ct)
    set -l found ($words[1] __complete $words[2..] "$typed" 2>/dev/null)
    switch "$found[1]"
        case @file
            set -l flag (string match -r -- '^--[^=]*=' "$typed")
            __fish_complete_path (string replace -- "$flag" '' "$typed") | string replace -r -- '^' "$flag"
        case @program
            __fish_complete_command
        case '*'
            string join \n -- $found
    end
end
complete -c slotmq -f -a '(__slotmq_complete)'
