# bash completion of slotmq(1), made from its table of verbs (cli/templates/fill.c)

# The flags of a verb, of '' the global ones: --switch, --flag= with any operand, --flag=a|b,
# --flag=@file, --flag=@keys.
_slotmq_flags()
{
    case $1 in
@bash-flags@
    esac
}

_slotmq_keys()
{
@bash-keys@
}

# Each first word of a verb, with the words that may follow it.
declare -gA _slotmq_words=(
@bash-words@
)

# _slotmq_reply WORD... : those that begin with what was typed.
_slotmq_reply()
{
    mapfile -t COMPREPLY < <(compgen -W "$*" -- "$typed")
}

# What the flag $1 of the present verb takes, as in the table; false if it takes nothing.
_slotmq_operand()
{
    local entry
    for entry in $(_slotmq_flags "$verb") $(_slotmq_flags ''); do
        if [[ $entry == "$1="* ]]; then
            printf '%s\n' "${entry#*=}"
            return 0
        fi
    done
    return 1
}

_slotmq_reply_operand()
{
    case $1 in
    @file) mapfile -t COMPREPLY < <(compgen -f -- "$typed") && compopt -o filenames 2>/dev/null ;;
    @keys) _slotmq_reply "$(_slotmq_keys)" && compopt -o nospace 2>/dev/null ;;
    *) _slotmq_reply "${1//|/ }" ;;
    esac
}

_slotmq_reply_word()
{
    local entries
    if [[ $typed == -* ]]; then
        entries=" $(_slotmq_flags "$verb") $(_slotmq_flags '')"
        # shellcheck disable=SC2001 # an expansion cannot cut each word at its =
        _slotmq_reply "$(sed 's/=[^ ]*//g' <<<"$entries")"
    elif [[ -z $verb ]]; then
        _slotmq_reply "${!_slotmq_words[*]}"
    elif [[ $verb == help ]]; then
        _slotmq_reply "${!_slotmq_words[*]}"
    elif [[ -n ${_slotmq_words[$verb]-} ]]; then
        _slotmq_reply "${_slotmq_words[$verb]}"
    fi
}

_slotmq()
{
    local typed=${COMP_WORDS[COMP_CWORD]} verb='' operand='' needed='' word i
    COMPREPLY=()
    for ((i = 1; i < COMP_CWORD; i++)); do
        word=${COMP_WORDS[i]}
        if [[ $word == = ]]; then # bash cuts --flag=operand at its =
            continue
        elif [[ -n $needed ]]; then
            needed=''
        elif [[ $word == -- ]]; then # a program, for verbs that take one
            mapfile -t COMPREPLY < <(compgen -c -f -- "$typed")
            return
        elif [[ $word == -* ]]; then
            operand=$(_slotmq_operand "$word") && needed=yes
        elif [[ -z $verb ]]; then
            verb=$word
        elif [[ $verb != *' '* && -n ${_slotmq_words[$verb]-} ]]; then
            verb+=" $word"
        fi
    done
    [[ $typed != = ]] || typed=''
    if [[ -n $needed ]]; then
        _slotmq_reply_operand "$operand"
    else
        _slotmq_reply_word
    fi
}
complete -F _slotmq slotmq
