#compdef catalog
# Completion of catalog for zsh.
_catalog() {
    local -a choices values
    local place="${(j: :)words[2,CURRENT-1]}"
    place="${place#tools }"
    case $place in
        '')
            choices=(
                'find-books:Find books by title or author'
                'serve'
                'install'
                'audit'
                'tools:List the tools as commands, or run one: `tools CATEGORY COMMAND`'
                'completion:Print the script that completes commands in bash, zsh or fish'
                'programs:List, approve and refuse programs of the discovery style `code` that wait for an approval'
            ) ;;
        'tools')
            choices=(
                'find-books:Find books by title or author'
            ) ;;
        'books find-books'|'books find-books '*|'find-books'|'find-books '*)
            choices=(
                '--query:Words of the title or author'
                '--limit:Most titles to give'
                '--arguments:All parameters as a JSON object'
                '--json:Print the result as JSON'
                '--output:Write the content of the result to a file'
                '--yes:Approve the call without a question'
                '--help:Show the help'
            ) ;;
    esac
    if (( $#values )); then
        compadd -a values
    elif (( $#choices )); then
        _describe -t commands choice choices || _files
    else
        _files
    fi
}
if [ "${funcstack[1]}" = "_catalog" ]; then
    _catalog "$@"
else
    compdef _catalog catalog
fi
# toolmason: sha256 d9c1af3f8157c6da6ab7fc8f637eaea0
