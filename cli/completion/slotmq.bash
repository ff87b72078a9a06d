# bash completion of slotmq(1), as printed by: slotmq completion bash
# $1: the command; $2: what was typed of the word since the last : or = in it
_slotmq()
{
    local line=${COMP_LINE:0:COMP_POINT} words=() typed word
    read -ra words <<<"$line"
    [[ $line != *' ' ]] || words+=('')
    typed=${words[-1]}
    COMPREPLY=()
    while IFS=$'\t' read -r word _; do
        case $word in
        @file) mapfile -t COMPREPLY < <(compgen -f -- "$2") && compopt -o filenames ;;
        @program) mapfile -t COMPREPLY < <(compgen -c -f -- "$2") ;;
        "$typed"*)
            COMPREPLY+=("$2${word#"$typed"}")
            [[ $word != *= ]] || compopt -o nospace
            ;;
        esac
    done < <("$1" __complete "${words[@]:1}")
} 2>/dev/null
complete -F _slotmq slotmq
