# Completion of odd for fish.
function _odd_place
    set -l given (commandline -opc)[2..-1]
    if set -q given[2]; and test $given[1] = tools; set -e given[1]; end
    echo -- $given
end
function _odd_at
    test "$(_odd_place)" = "$argv"
end
function _odd_in
    set -l place (_odd_place)
    for form in $argv
        string match -q -- "$form *" "$place "; and return 0
    end
    return 1
end
complete -c odd -n '_odd_at ""' -f -a 'serve' -d ''
complete -c odd -n '_odd_at ""' -f -a 'install' -d ''
complete -c odd -n '_odd_at ""' -f -a 'audit' -d ''
complete -c odd -n '_odd_at ""' -f -a 'tools' -d 'List the tools as commands, or run one: `tools CATEGORY COMMAND`'
complete -c odd -n '_odd_at ""' -f -a 'completion' -d 'Print the script that completes commands in bash, zsh or fish'
complete -c odd -n '_odd_at ""' -f -a 'programs' -d 'List, approve and refuse programs of the discovery style `code` that wait for an approval'
complete -c odd -n '_odd_at "tools"' -f -a 'audit' -d 'A category with the name of a subcommand'
complete -c odd -n '_odd_at "tools"' -f -a 'tools' -d 'Another one'
complete -c odd -n '_odd_at "audit"' -f -a 'echo' -d 'Return the arguments'
complete -c odd -n '_odd_in "audit echo" "echo"' -l 'arg-help' -d 'Collides'
complete -c odd -n '_odd_in "audit echo" "echo"' -l 'arg-json' -d 'Collides'
complete -c odd -n '_odd_in "audit echo" "echo"' -l 'no-arg-json' -d 'Collides'
complete -c odd -n '_odd_in "audit echo" "echo"' -l 'class' -d 'A keyword'
complete -c odd -n '_odd_in "audit echo" "echo"' -l 'max_count' -d 'Snake'
complete -c odd -n '_odd_in "audit echo" "echo"' -l 'maxCount' -d 'Camel'
complete -c odd -n '_odd_in "audit echo" "echo"' -l 'no-max-count' -d 'Looks negated'
complete -c odd -n '_odd_in "audit echo" "echo"' -l 'no-no-max-count' -d 'Looks negated'
complete -c odd -n '_odd_in "audit echo" "echo"' -l 'point' -d 'An object {x: integer}'
complete -c odd -n '_odd_in "audit echo" "echo"' -l 'points' -d 'Objects {x: integer}'
complete -c odd -n '_odd_in "audit echo" "echo"' -l 'grid' -d 'Nested [[integer]]'
complete -c odd -n '_odd_in "audit echo" "echo"' -l 'names' -d 'Texts'
complete -c odd -n '_odd_in "audit echo" "echo"' -l 'ratio' -d 'A number'
complete -c odd -n '_odd_in "audit echo" "echo"' -l 'level' -x -a 'low high \'very high\'' -d 'Choice'
complete -c odd -n '_odd_in "audit echo" "echo"' -l 'arguments' -d 'All parameters as a JSON object'
complete -c odd -n '_odd_in "audit echo" "echo"' -l 'json' -d 'Print the result as JSON'
complete -c odd -n '_odd_in "audit echo" "echo"' -l 'output' -d 'Write the content of the result to a file'
complete -c odd -n '_odd_in "audit echo" "echo"' -l 'yes' -d 'Approve the call without a question'
complete -c odd -n '_odd_in "audit echo" "echo"' -l 'help' -d 'Show the help'
complete -c odd -n '_odd_at "tools"' -f -a 'list-rows' -d 'List rows'
complete -c odd -n '_odd_at "tools"' -f -a 'remove-rows' -d 'Remove rows'
complete -c odd -n '_odd_in "tools list-rows" "list-rows"' -l 'arguments' -d 'All parameters as a JSON object'
complete -c odd -n '_odd_in "tools list-rows" "list-rows"' -l 'json' -d 'Print the result as JSON'
complete -c odd -n '_odd_in "tools list-rows" "list-rows"' -l 'output' -d 'Write the content of the result to a file'
complete -c odd -n '_odd_in "tools list-rows" "list-rows"' -l 'yes' -d 'Approve the call without a question'
complete -c odd -n '_odd_in "tools list-rows" "list-rows"' -l 'help' -d 'Show the help'
complete -c odd -n '_odd_in "tools remove-rows" "remove-rows"' -l 'arguments' -d 'All parameters as a JSON object'
complete -c odd -n '_odd_in "tools remove-rows" "remove-rows"' -l 'json' -d 'Print the result as JSON'
complete -c odd -n '_odd_in "tools remove-rows" "remove-rows"' -l 'output' -d 'Write the content of the result to a file'
complete -c odd -n '_odd_in "tools remove-rows" "remove-rows"' -l 'yes' -d 'Approve the call without a question'
complete -c odd -n '_odd_in "tools remove-rows" "remove-rows"' -l 'help' -d 'Show the help'
# toolmason: sha256 b20e0d3bf4dff0390a6f0ef6244912eb
