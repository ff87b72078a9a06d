# fish completion of slotmq(1), made from its table of verbs (cli/templates/fill.c)

# The verb of the command line so far, of one word or two.
function __slotmq_verb
    set -l found
    set -l operand
    for word in (commandline -opc)[2..]
        if set -q operand[1]
            set -e operand
        else
            switch $word
@fish-operands@
                    set operand yes
                case '-*'
                case '*'
                    set -a found $word
            end
        end
    end
    switch "$found[1]"
@fish-groups@
            echo "$found[1..2]"
        case '*'
            echo "$found[1]"
    end
end

# Is it one of these?
function __slotmq_is
    contains -- (__slotmq_verb) $argv
end

complete -c slotmq -f
@fish-lines@
