# Completion of catalog for bash.
_catalog() {
    local word=${COMP_WORDS[COMP_CWORD]} previous=${COMP_WORDS[COMP_CWORD-1]} choice
    local choices=()
    local place="${COMP_WORDS[*]:1:COMP_CWORD-1}"
    place="${place#tools }"
    case $place in
        '')
            choices=('find-books' 'serve' 'install' 'audit' 'tools' 'completion' 'programs') ;;
        'tools')
            choices=('find-books') ;;
        'books find-books'|'books find-books '*|'find-books'|'find-books '*)
            choices=('--query' '--limit' '--arguments' '--json' '--output' '--yes' '--help') ;;
    esac
    COMPREPLY=()
    for choice in "${choices[@]}"; do
        if [[ $choice == "$word"* ]]; then COMPREPLY+=("$(printf %q "$choice")"); fi
    done
}
complete -o default -F _catalog catalog
# toolmason: sha256 db9dcfa409f8752d9098f7a9d4d7132e
