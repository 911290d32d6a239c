# Completion of toolmason-workbench for bash.
_toolmason_workbench() {
    local word=${COMP_WORDS[COMP_CWORD]} previous=${COMP_WORDS[COMP_CWORD-1]} choice
    local choices=()
    local place="${COMP_WORDS[*]:1:COMP_CWORD-1}"
    place="${place#tools }"
    case $place in
        '')
            choices=('files' 'editing' 'query' 'notes' 'research' 'validation' 'workflows' 'git' 'github' 'docker' 'system' 'serve' 'install' 'audit' 'tools' 'completion' 'programs' 'doctor' 'init' 'review' 'migrate-commands') ;;
        'tools')
            choices=('files' 'editing' 'query' 'notes' 'research' 'validation' 'workflows' 'git' 'github' 'docker' 'system') ;;
        'files')
            choices=('list-allowed-directories' 'read-files' 'read-media-file' 'list-directory-with-sizes' 'list-directory' 'search-files' 'get-file-info' 'directory-tree' 'grep-content') ;;
        'files list-allowed-directories'|'files list-allowed-directories '*|'list-allowed-directories'|'list-allowed-directories '*)
            choices=('--arguments' '--json' '--output' '--yes' '--help') ;;
        'files read-files'|'files read-files '*|'read-files'|'read-files '*)
            choices=('--files' '--large-file-passthrough' '--no-large-file-passthrough' '--arguments' '--json' '--output' '--yes' '--help') ;;
        'files read-media-file'|'files read-media-file '*|'read-media-file'|'read-media-file '*)
            choices=('--path' '--arguments' '--json' '--output' '--yes' '--help') ;;
        'files list-directory-with-sizes'|'files list-directory-with-sizes '*|'list-directory-with-sizes'|'list-directory-with-sizes '*)
            choices=('--path' '--arguments' '--json' '--output' '--yes' '--help') ;;
        'files list-directory'|'files list-directory '*|'list-directory'|'list-directory '*)
            choices=('--path' '--arguments' '--json' '--output' '--yes' '--help') ;;
        'files search-files'|'files search-files '*|'search-files'|'search-files '*)
            choices=('--path' '--pattern' '--arguments' '--json' '--output' '--yes' '--help') ;;
        'files get-file-info'|'files get-file-info '*|'get-file-info'|'get-file-info '*)
            choices=('--path' '--arguments' '--json' '--output' '--yes' '--help') ;;
        'files directory-tree'|'files directory-tree '*|'directory-tree'|'directory-tree '*)
            choices=('--path' '--max-depth' '--exclude-dirs' '--arguments' '--json' '--output' '--yes' '--help') ;;
        'files grep-content'|'files grep-content '*|'grep-content'|'grep-content '*)
            choices=('--pattern' '--search-path' '--case-insensitive' '--no-case-insensitive' '--context-lines' '--section-patterns' '--arguments' '--json' '--output' '--yes' '--help') ;;
        'editing')
            choices=('propose-and-review' 'commit-review' 'review-status' 'create-directory' 'write-file' 'append-text' 'move-file') ;;
        'editing propose-and-review'|'editing propose-and-review '*|'propose-and-review'|'propose-and-review '*)
            choices=('--path' '--files' '--edits' '--match-text' '--new-string' '--expected-replacements' '--bypass-match-text-limit' '--no-bypass-match-text-limit' '--encoding' '--session-path' '--again' '--no-again' '--arguments' '--json' '--output' '--yes' '--help') ;;
        'editing commit-review'|'editing commit-review '*|'commit-review'|'commit-review '*)
            choices=('--session-path' '--original-path' '--arguments' '--json' '--output' '--yes' '--help') ;;
        'editing review-status'|'editing review-status '*|'review-status'|'review-status '*)
            choices=('--session-path' '--wait-s' '--arguments' '--json' '--output' '--yes' '--help') ;;
        'editing create-directory'|'editing create-directory '*|'create-directory'|'create-directory '*)
            choices=('--path' '--arguments' '--json' '--output' '--yes' '--help') ;;
        'editing write-file'|'editing write-file '*|'write-file'|'write-file '*)
            choices=('--path' '--content' '--encoding' '--arguments' '--json' '--output' '--yes' '--help') ;;
        'editing append-text'|'editing append-text '*|'append-text'|'append-text '*)
            choices=('--path' '--content' '--encoding' '--arguments' '--json' '--output' '--yes' '--help') ;;
        'editing move-file'|'editing move-file '*|'move-file'|'move-file '*)
            choices=('--source' '--destination' '--arguments' '--json' '--output' '--yes' '--help') ;;
        'query')
            choices=('json' 'yaml' 'toml') ;;
        'query json'|'query json '*|'query-json'|'query-json '*)
            choices=('--file-path' '--jq-expression' '--timeout' '--arguments' '--json' '--output' '--yes' '--help') ;;
        'query yaml'|'query yaml '*|'query-yaml'|'query-yaml '*)
            choices=('--file-path' '--yq-expression' '--timeout' '--arguments' '--json' '--output' '--yes' '--help') ;;
        'query toml'|'query toml '*|'query-toml'|'query-toml '*)
            choices=('--file-path' '--jq-expression' '--timeout' '--arguments' '--json' '--output' '--yes' '--help') ;;
        'notes')
            choices=('analyze-work-log') ;;
        'notes analyze-work-log'|'notes analyze-work-log '*|'analyze-work-log'|'analyze-work-log '*)
            case $previous in
                --output-format) choices=('json' 'table') ;;
                *) choices=('--file-path' '--output-format' '--arguments' '--json' '--output' '--yes' '--help') ;;
            esac ;;
        'research')
            choices=('quick-query' 'deep-research' 'validate-paths' 'analyze-directory' 'health-check' 'ask-gemini' 'grounding-search' 'analyze-codebase' 'query-codebase' 'find-code-by-intent' 'trace-feature' 'list-error-patterns') ;;
        'research quick-query'|'research quick-query '*|'quick-query'|'quick-query '*)
            case $previous in
                --focus) choices=('security' 'architecture' 'performance' 'general') ;;
                --response-style) choices=('concise' 'normal' 'detailed') ;;
                --depth) choices=('files' 'explore') ;;
                *) choices=('--prompt' '--focus' '--response-style' '--paths' '--depth' '--fresh' '--no-fresh' '--dry-run' '--no-dry-run' '--arguments' '--json' '--output' '--yes' '--help') ;;
            esac ;;
        'research deep-research'|'research deep-research '*|'deep-research'|'deep-research '*)
            case $previous in
                --focus) choices=('security' 'architecture' 'performance' 'general') ;;
                --citation-mode) choices=('none' 'paths_only') ;;
                --depth) choices=('files' 'explore') ;;
                *) choices=('--prompt' '--focus' '--citation-mode' '--paths' '--depth' '--fresh' '--no-fresh' '--dry-run' '--no-dry-run' '--arguments' '--json' '--output' '--yes' '--help') ;;
            esac ;;
        'research validate-paths'|'research validate-paths '*|'validate-paths'|'validate-paths '*)
            choices=('--paths' '--arguments' '--json' '--output' '--yes' '--help') ;;
        'research analyze-directory'|'research analyze-directory '*|'analyze-directory'|'analyze-directory '*)
            choices=('--path' '--depth' '--max-files' '--fresh' '--no-fresh' '--dry-run' '--no-dry-run' '--arguments' '--json' '--output' '--yes' '--help') ;;
        'research health-check'|'research health-check '*|'health-check'|'health-check '*)
            choices=('--include-diagnostics' '--no-include-diagnostics' '--arguments' '--json' '--output' '--yes' '--help') ;;
        'research ask-gemini'|'research ask-gemini '*|'ask-gemini'|'ask-gemini '*)
            choices=('--prompt' '--include-codebase-context' '--no-include-codebase-context' '--temperature' '--paths' '--fresh' '--no-fresh' '--dry-run' '--no-dry-run' '--arguments' '--json' '--output' '--yes' '--help') ;;
        'research grounding-search'|'research grounding-search '*|'grounding-search'|'grounding-search '*)
            choices=('--query' '--arguments' '--json' '--output' '--yes' '--help') ;;
        'research analyze-codebase'|'research analyze-codebase '*|'analyze-codebase'|'analyze-codebase '*)
            choices=('--focus-description' '--directories' '--file-patterns' '--exclude-patterns' '--fresh' '--no-fresh' '--dry-run' '--no-dry-run' '--arguments' '--json' '--output' '--yes' '--help') ;;
        'research query-codebase'|'research query-codebase '*|'query-codebase'|'query-codebase '*)
            choices=('--questions' '--scope' '--include-patterns' '--exclude-patterns' '--max-tokens-per-answer' '--fresh' '--no-fresh' '--dry-run' '--no-dry-run' '--arguments' '--json' '--output' '--yes' '--help') ;;
        'research find-code-by-intent'|'research find-code-by-intent '*|'find-code-by-intent'|'find-code-by-intent '*)
            case $previous in
                --return-format) choices=('summary_with_references' 'detailed_with_snippets') ;;
                *) choices=('--intent' '--return-format' '--max-files' '--scope' '--fresh' '--no-fresh' '--dry-run' '--no-dry-run' '--arguments' '--json' '--output' '--yes' '--help') ;;
            esac ;;
        'research trace-feature'|'research trace-feature '*|'trace-feature'|'trace-feature '*)
            choices=('--feature' '--entry-point' '--max-depth' '--include-data-flow' '--no-include-data-flow' '--fresh' '--no-fresh' '--dry-run' '--no-dry-run' '--arguments' '--json' '--output' '--yes' '--help') ;;
        'research list-error-patterns'|'research list-error-patterns '*|'list-error-patterns'|'list-error-patterns '*)
            case $previous in
                --pattern-type) choices=('error_handling' 'logging' 'async_patterns' 'database_queries') ;;
                --group-by) choices=('pattern' 'file' 'severity') ;;
                *) choices=('--pattern-type' '--directory' '--group-by' '--fresh' '--no-fresh' '--dry-run' '--no-dry-run' '--arguments' '--json' '--output' '--yes' '--help') ;;
            esac ;;
        'validation')
            choices=('validate-against-codebase' 'check-consistency') ;;
        'validation validate-against-codebase'|'validation validate-against-codebase '*|'validate-against-codebase'|'validate-against-codebase '*)
            choices=('--spec-content' '--validation-checks' '--codebase-context' '--fresh' '--no-fresh' '--dry-run' '--no-dry-run' '--arguments' '--json' '--output' '--yes' '--help') ;;
        'validation check-consistency'|'validation check-consistency '*|'check-consistency'|'check-consistency '*)
            case $previous in
                --focus) choices=('naming_conventions' 'error_handling' 'testing' 'api_design' 'all') ;;
                *) choices=('--focus' '--new-code-or-spec' '--scope' '--fresh' '--no-fresh' '--dry-run' '--no-dry-run' '--arguments' '--json' '--output' '--yes' '--help') ;;
            esac ;;
        'workflows')
            choices=('setup-workflows' 'generate-slash-command' 'generate-feature-workflow') ;;
        'workflows setup-workflows'|'workflows setup-workflows '*|'setup-workflows'|'setup-workflows '*)
            case $previous in
                --host) choices=('claude-code' 'gemini-cli' 'opencode' 'cursor') ;;
                *) choices=('--workflows' '--output-dir' '--overwrite' '--no-overwrite' '--include-commands' '--no-include-commands' '--command-prefix' '--workflow-prefix' '--host' '--arguments' '--json' '--output' '--yes' '--help') ;;
            esac ;;
        'workflows generate-slash-command'|'workflows generate-slash-command '*|'generate-slash-command'|'generate-slash-command '*)
            case $previous in
                --workflow-type) choices=('feature' 'refactor' 'debug' 'review' 'custom') ;;
                --host) choices=('claude-code' 'gemini-cli' 'opencode' 'cursor') ;;
                *) choices=('--command-name' '--workflow-type' '--description' '--steps' '--save-to' '--prefix' '--host' '--overwrite' '--no-overwrite' '--arguments' '--json' '--output' '--yes' '--help') ;;
            esac ;;
        'workflows generate-feature-workflow'|'workflows generate-feature-workflow '*|'generate-feature-workflow'|'generate-feature-workflow '*)
            case $previous in
                --workflow-style) choices=('interactive' 'automated' 'template') ;;
                *) choices=('--feature-description' '--workflow-style' '--save-to' '--include-validation-steps' '--no-include-validation-steps' '--overwrite' '--no-overwrite' '--arguments' '--json' '--output' '--yes' '--help') ;;
            esac ;;
        'git')
            choices=('status' 'log' 'diff' 'show' 'blame' 'branch' 'add' 'commit') ;;
        'git status'|'git status '*|'git-status'|'git-status '*)
            case $previous in
                --untracked) choices=('no' 'normal' 'all') ;;
                *) choices=('--repository' '--untracked' '--paths' '--arguments' '--json' '--output' '--yes' '--help') ;;
            esac ;;
        'git log'|'git log '*|'git-log'|'git-log '*)
            case $previous in
                --format) choices=('oneline' 'short' 'medium' 'full' 'fuller') ;;
                *) choices=('--repository' '--max-count' '--skip' '--format' '--author' '--regexp' '--no-regexp' '--since' '--until' '--message' '--changed-text' '--stat' '--no-stat' '--patch' '--no-patch' '--revision' '--paths' '--arguments' '--json' '--output' '--yes' '--help') ;;
            esac ;;
        'git diff'|'git diff '*|'git-diff'|'git-diff '*)
            choices=('--repository' '--staged' '--no-staged' '--summary' '--no-summary' '--context-lines' '--ignore-space' '--no-ignore-space' '--revision' '--paths' '--arguments' '--json' '--output' '--yes' '--help') ;;
        'git show'|'git show '*|'git-show'|'git-show '*)
            choices=('--repository' '--summary' '--no-summary' '--object' '--paths' '--arguments' '--json' '--output' '--yes' '--help') ;;
        'git blame'|'git blame '*|'git-blame'|'git-blame '*)
            choices=('--repository' '--lines' '--ignore-space' '--no-ignore-space' '--revision' '--path' '--arguments' '--json' '--output' '--yes' '--help') ;;
        'git branch'|'git branch '*|'git-branch'|'git-branch '*)
            choices=('--repository' '--all' '--no-all' '--contains' '--merged' '--patterns' '--arguments' '--json' '--output' '--yes' '--help') ;;
        'git add'|'git add '*|'git-add'|'git-add '*)
            choices=('--repository' '--paths' '--arguments' '--json' '--output' '--yes' '--help') ;;
        'git commit'|'git commit '*|'git-commit'|'git-commit '*)
            choices=('--repository' '--message' '--arguments' '--json' '--output' '--yes' '--help') ;;
        'github')
            choices=('gh-pr-list' 'gh-pr-view' 'gh-issue-list' 'gh-issue-view' 'gh-api') ;;
        'github gh-pr-list'|'github gh-pr-list '*|'gh-pr-list'|'gh-pr-list '*)
            case $previous in
                --state) choices=('open' 'closed' 'merged' 'all') ;;
                *) choices=('--directory' '--repo' '--state' '--limit' '--author' '--labels' '--search' '--arguments' '--json' '--output' '--yes' '--help') ;;
            esac ;;
        'github gh-pr-view'|'github gh-pr-view '*|'gh-pr-view'|'gh-pr-view '*)
            choices=('--directory' '--number' '--repo' '--comments' '--no-comments' '--arguments' '--json' '--output' '--yes' '--help') ;;
        'github gh-issue-list'|'github gh-issue-list '*|'gh-issue-list'|'gh-issue-list '*)
            case $previous in
                --state) choices=('open' 'closed' 'all') ;;
                *) choices=('--directory' '--repo' '--state' '--limit' '--assignee' '--author' '--labels' '--search' '--arguments' '--json' '--output' '--yes' '--help') ;;
            esac ;;
        'github gh-issue-view'|'github gh-issue-view '*|'gh-issue-view'|'gh-issue-view '*)
            choices=('--directory' '--number' '--repo' '--comments' '--no-comments' '--arguments' '--json' '--output' '--yes' '--help') ;;
        'github gh-api'|'github gh-api '*|'gh-api'|'gh-api '*)
            case $previous in
                --method) choices=('GET' 'HEAD' 'POST' 'PUT' 'PATCH' 'DELETE') ;;
                *) choices=('--directory' '--endpoint' '--method' '--fields' '--paginate' '--no-paginate' '--arguments' '--json' '--output' '--yes' '--help') ;;
            esac ;;
        'docker')
            choices=('ps' 'images' 'logs' 'inspect') ;;
        'docker ps'|'docker ps '*|'docker-ps'|'docker-ps '*)
            choices=('--all' '--no-all' '--filters' '--arguments' '--json' '--output' '--yes' '--help') ;;
        'docker images'|'docker images '*|'docker-images'|'docker-images '*)
            choices=('--all' '--no-all' '--filters' '--repository' '--arguments' '--json' '--output' '--yes' '--help') ;;
        'docker logs'|'docker logs '*|'docker-logs'|'docker-logs '*)
            choices=('--container' '--tail' '--since' '--timestamps' '--no-timestamps' '--arguments' '--json' '--output' '--yes' '--help') ;;
        'docker inspect'|'docker inspect '*|'docker-inspect'|'docker-inspect '*)
            case $previous in
                --type) choices=('container' 'image' 'volume' 'network') ;;
                *) choices=('--type' '--names' '--arguments' '--json' '--output' '--yes' '--help') ;;
            esac ;;
        'system')
            choices=('word-count' 'disk-usage' 'disk-free') ;;
        'system word-count'|'system word-count '*|'word-count'|'word-count '*)
            choices=('--lines' '--no-lines' '--words' '--no-words' '--bytes' '--no-bytes' '--paths' '--arguments' '--json' '--output' '--yes' '--help') ;;
        'system disk-usage'|'system disk-usage '*|'disk-usage'|'disk-usage '*)
            choices=('--max-depth' '--paths' '--arguments' '--json' '--output' '--yes' '--help') ;;
        'system disk-free'|'system disk-free '*|'disk-free'|'disk-free '*)
            choices=('--paths' '--arguments' '--json' '--output' '--yes' '--help') ;;
    esac
    COMPREPLY=()
    for choice in "${choices[@]}"; do
        if [[ $choice == "$word"* ]]; then COMPREPLY+=("$(printf %q "$choice")"); fi
    done
}
complete -o default -F _toolmason_workbench toolmason-workbench
# toolmason: sha256 49d873988d9c10a78ecf6ee465ed4f86
