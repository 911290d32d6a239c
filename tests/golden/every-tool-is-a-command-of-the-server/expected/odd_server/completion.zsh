#compdef odd
# Completion of odd for zsh.
_odd() {
    local -a choices values
    local place="${(j: :)words[2,CURRENT-1]}"
    place="${place#tools }"
    case $place in
        '')
            choices=(
                'serve'
                'install'
                'audit'
                'tools:List the tools as commands, or run one: `tools CATEGORY COMMAND`'
                'completion:Print the script that completes commands in bash, zsh or fish'
                'programs:List, approve and refuse programs of the discovery style `code` that wait for an approval'
            ) ;;
        'tools')
            choices=(
                'audit:A category with the name of a subcommand'
                'tools:Another one'
            ) ;;
        'audit')
            choices=(
                'echo:Return the arguments'
            ) ;;
        'audit echo'|'audit echo '*|'echo'|'echo '*)
            case ${words[CURRENT-1]} in
                --level) values=('low' 'high' 'very high') ;;
            esac
            choices=(
                '--arg-help:Collides'
                '--arg-json:Collides'
                '--no-arg-json:Collides'
                '--class:A keyword'
                '--max_count:Snake'
                '--maxCount:Camel'
                '--no-max-count:Looks negated'
                '--no-no-max-count:Looks negated'
                '--point:An object {x: integer}'
                '--points:Objects {x: integer}'
                '--grid:Nested [[integer]]'
                '--names:Texts'
                '--ratio:A number'
                '--level:Choice'
                '--arguments:All parameters as a JSON object'
                '--json:Print the result as JSON'
                '--output:Write the content of the result to a file'
                '--yes:Approve the call without a question'
                '--help:Show the help'
            ) ;;
        'tools')
            choices=(
                'list-rows:List rows'
                'remove-rows:Remove rows'
            ) ;;
        'tools list-rows'|'tools list-rows '*|'list-rows'|'list-rows '*)
            choices=(
                '--arguments:All parameters as a JSON object'
                '--json:Print the result as JSON'
                '--output:Write the content of the result to a file'
                '--yes:Approve the call without a question'
                '--help:Show the help'
            ) ;;
        'tools remove-rows'|'tools remove-rows '*|'remove-rows'|'remove-rows '*)
            choices=(
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
if [ "${funcstack[1]}" = "_odd" ]; then
    _odd "$@"
else
    compdef _odd odd
fi
# toolmason: sha256 2300b51b390b300835a51eb5603d90c9
