# Completion of catalog for fish.
function _catalog_place
    set -l given (commandline -opc)[2..-1]
    if set -q given[2]; and test $given[1] = tools; set -e given[1]; end
    echo -- $given
end
function _catalog_at
    test "$(_catalog_place)" = "$argv"
end
function _catalog_in
    set -l place (_catalog_place)
    for form in $argv
        string match -q -- "$form *" "$place "; and return 0
    end
    return 1
end
complete -c catalog -n '_catalog_at ""' -f -a 'find-books' -d 'Find books by title or author'
complete -c catalog -n '_catalog_at ""' -f -a 'serve' -d ''
complete -c catalog -n '_catalog_at ""' -f -a 'install' -d ''
complete -c catalog -n '_catalog_at ""' -f -a 'audit' -d ''
complete -c catalog -n '_catalog_at ""' -f -a 'tools' -d 'List the tools as commands, or run one: `tools CATEGORY COMMAND`'
complete -c catalog -n '_catalog_at ""' -f -a 'completion' -d 'Print the script that completes commands in bash, zsh or fish'
complete -c catalog -n '_catalog_at ""' -f -a 'programs' -d 'List, approve and refuse programs of the discovery style `code` that wait for an approval'
complete -c catalog -n '_catalog_at "tools"' -f -a 'find-books' -d 'Find books by title or author'
complete -c catalog -n '_catalog_in "books find-books" "find-books"' -l 'query' -d 'Words of the title or author'
complete -c catalog -n '_catalog_in "books find-books" "find-books"' -l 'limit' -d 'Most titles to give'
complete -c catalog -n '_catalog_in "books find-books" "find-books"' -l 'arguments' -d 'All parameters as a JSON object'
complete -c catalog -n '_catalog_in "books find-books" "find-books"' -l 'json' -d 'Print the result as JSON'
complete -c catalog -n '_catalog_in "books find-books" "find-books"' -l 'output' -d 'Write the content of the result to a file'
complete -c catalog -n '_catalog_in "books find-books" "find-books"' -l 'yes' -d 'Approve the call without a question'
complete -c catalog -n '_catalog_in "books find-books" "find-books"' -l 'help' -d 'Show the help'
# toolmason: sha256 5847472bb26792b4ca9b3e628d285fb6
