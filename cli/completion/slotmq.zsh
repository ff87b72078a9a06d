#compdef slotmq
# zsh completion of slotmq(1), as printed by: slotmq completion zsh
_slotmq() {
    local -a found plain open
    local word
    local -i end=${words[(i)--]}
    found=("${(@f)$(${(Q)words[1]} __complete "${(@Q)words[2,CURRENT-1]}" "${(Q)PREFIX}" 2>/dev/null)}")
    case $found[1] in
    @file)
        compset -P '--*='
        _files
        ;;
    @program)
        shift $end words
        (( CURRENT -= end ))
        _normal
        ;;
    *)
        for word in "${(@)found//:/\\:}"; do
            if [[ $word == *=$'\t'* ]]; then open+=("${word/$'\t'/:}"); else plain+=("${word/$'\t'/:}"); fi
        done
        _describe slotmq plain -- open -S ''
        ;;
    esac
}
if [[ $funcstack[1] == _slotmq ]]; then _slotmq "$@"; else compdef _slotmq slotmq; fi
