#compdef slotmq
# zsh completion of slotmq(1), made from its table of verbs (cli/templates/fill.c)

_slotmq_keys() {
    local -a keys
    keys=(
@zsh-keys@
    )
    compset -P '*=' || _values -S = 'option' ${^keys}'[option of the client]:value:'
}

# The flags of the verb $1 into `flags`, and whether a program follows it.
_slotmq_flags() {
    flags=()
    program=
    case $1 in
@zsh-flags@
    esac
}

# The second words of the verbs that begin with $1; false if there are none.
_slotmq_second() {
    second=()
    case $1 in
@zsh-second@
    esac
    (( $#second ))
}

_slotmq_arguments() {
    local -a flags
    local program
    local -i end=${words[(i)--]}
    _slotmq_flags "$1"
    if [[ -n $program ]] && (( CURRENT > end )); then
        shift $end words
        (( CURRENT -= end ))
        _normal
    else
        _arguments -C -s $global $flags '*:operand:'
    fi
}

_slotmq() {
    local curcontext=$curcontext state line verb
    typeset -A opt_args
    local -a first second global
    global=(
@zsh-global@
    )
    first=(
@zsh-first@
    )
    _arguments -C -s $global '1: :->verb' '*:: :->operands' && return
    case $state in
    verb) _describe -t verbs 'verb' first ;;
    key) _slotmq_keys ;;
    operands)
        verb=$words[1]
        if [[ $verb == help ]]; then
            _describe -t verbs 'verb' first
        elif ! _slotmq_second $verb; then
            _slotmq_arguments $verb
        elif (( CURRENT == 2 )); then
            _describe -t verbs 'verb' second
        else
            verb+=" $words[2]"
            shift words
            (( CURRENT-- ))
            _slotmq_arguments $verb
        fi
        [[ $state != key ]] || _slotmq_keys
        ;;
    esac
}

_slotmq "$@"
