# Completion of odd for bash.
_odd() {
    local word=${COMP_WORDS[COMP_CWORD]} previous=${COMP_WORDS[COMP_CWORD-1]} choice
    local choices=()
    local place="${COMP_WORDS[*]:1:COMP_CWORD-1}"
    place="${place#tools }"
    case $place in
        '')
            choices=('serve' 'install' 'audit' 'tools' 'completion' 'programs') ;;
        'tools')
            choices=('audit' 'tools') ;;
        'audit')
            choices=('echo') ;;
        'audit echo'|'audit echo '*|'echo'|'echo '*)
            case $previous in
                --level) choices=('low' 'high' 'very high') ;;
                *) choices=('--arg-help' '--arg-json' '--no-arg-json' '--class' '--max_count' '--maxCount' '--no-max-count' '--no-no-max-count' '--point' '--points' '--grid' '--names' '--ratio' '--level' '--arguments' '--json' '--output' '--yes' '--help') ;;
            esac ;;
        'tools')
            choices=('list-rows' 'remove-rows') ;;
        'tools list-rows'|'tools list-rows '*|'list-rows'|'list-rows '*)
            choices=('--arguments' '--json' '--output' '--yes' '--help') ;;
        'tools remove-rows'|'tools remove-rows '*|'remove-rows'|'remove-rows '*)
            choices=('--arguments' '--json' '--output' '--yes' '--help') ;;
    esac
    COMPREPLY=()
    for choice in "${choices[@]}"; do
        if [[ $choice == "$word"* ]]; then COMPREPLY+=("$(printf %q "$choice")"); fi
    done
}
complete -o default -F _odd odd
# toolmason: sha256 ec4ca6c9c206edcaeae0487e13595959
