#compdef toolmason-workbench
# Completion of toolmason-workbench for zsh.
_toolmason_workbench() {
    local -a choices values
    local place="${(j: :)words[2,CURRENT-1]}"
    place="${place#tools }"
    case $place in
        '')
            choices=(
                'files:List directories, read files, find names and lines'
                'editing:Propose, review and write changes to files'
                'query:Query JSON and YAML files with jq'
                'notes:Work logs of a project'
                'research:Questions about a codebase, answered by a large-context model'
                'validation:Plans and new code checked against the codebase'
                'workflows:Set up workflows and slash commands in a project'
                'git:History, changes and commits of a git repository'
                'github:Pull requests, issues and the API of GitHub'
                'docker:Look at Docker containers and images'
                'system:Count words and measure disks with the system'\''s own programs'
                'serve'
                'install'
                'audit'
                'tools:List the tools as commands, or run one: `tools CATEGORY COMMAND`'
                'completion:Print the script that completes commands in bash, zsh or fish'
                'programs:List, approve and refuse programs of the discovery style `code` that wait for an approval'
                'doctor:Check the setup of the research tools and print the client configuration'
                'init:Alias of `doctor`'
                'review:Review proposed changes of files: in the terminal, or in a browser with --web'
                'migrate-commands:Rename command files of Workbench that were written without a prefix'
            ) ;;
        'tools')
            choices=(
                'files:List directories, read files, find names and lines'
                'editing:Propose, review and write changes to files'
                'query:Query JSON and YAML files with jq'
                'notes:Work logs of a project'
                'research:Questions about a codebase, answered by a large-context model'
                'validation:Plans and new code checked against the codebase'
                'workflows:Set up workflows and slash commands in a project'
                'git:History, changes and commits of a git repository'
                'github:Pull requests, issues and the API of GitHub'
                'docker:Look at Docker containers and images'
                'system:Count words and measure disks with the system'\''s own programs'
            ) ;;
        'files')
            choices=(
                'list-allowed-directories:List the directories that may be read'
                'read-files:Read several text files, whole or in part'
                'read-media-file:Read an image, audio or other binary file'
                'list-directory-with-sizes:List one directory with the size of each file'
                'list-directory:List the names in one directory, without sizes'
                'search-files:Find files and directories by name or glob pattern'
                'get-file-info:Get size, line count, dates and type of a file or directory'
                'directory-tree:Show the structure of a project as an indented tree'
                'grep-content:Search file contents by regular expression, with section hints'
            ) ;;
        'files list-allowed-directories'|'files list-allowed-directories '*|'list-allowed-directories'|'list-allowed-directories '*)
            choices=(
                '--arguments:All parameters as a JSON object'
                '--json:Print the result as JSON'
                '--output:Write the content of the result to a file'
                '--yes:Approve the call without a question'
                '--help:Show the help'
            ) ;;
        'files read-files'|'files read-files '*|'read-files'|'read-files '*)
            choices=(
                '--files:Files to read: objects with a path, not bare strings'
                '--large-file-passthrough:Read large JSON, YAML and TOML files whole, up to the limit of one answer'
                '--no-large-file-passthrough:Read large JSON, YAML and TOML files whole, up to the limit of one answer'
                '--arguments:All parameters as a JSON object'
                '--json:Print the result as JSON'
                '--output:Write the content of the result to a file'
                '--yes:Approve the call without a question'
                '--help:Show the help'
            ) ;;
        'files read-media-file'|'files read-media-file '*|'read-media-file'|'read-media-file '*)
            choices=(
                '--path:Path of the file'
                '--arguments:All parameters as a JSON object'
                '--json:Print the result as JSON'
                '--output:Write the content of the result to a file'
                '--yes:Approve the call without a question'
                '--help:Show the help'
            ) ;;
        'files list-directory-with-sizes'|'files list-directory-with-sizes '*|'list-directory-with-sizes'|'list-directory-with-sizes '*)
            choices=(
                '--path:Path of the directory'
                '--arguments:All parameters as a JSON object'
                '--json:Print the result as JSON'
                '--output:Write the content of the result to a file'
                '--yes:Approve the call without a question'
                '--help:Show the help'
            ) ;;
        'files list-directory'|'files list-directory '*|'list-directory'|'list-directory '*)
            choices=(
                '--path:Path of the directory'
                '--arguments:All parameters as a JSON object'
                '--json:Print the result as JSON'
                '--output:Write the content of the result to a file'
                '--yes:Approve the call without a question'
                '--help:Show the help'
            ) ;;
        'files search-files'|'files search-files '*|'search-files'|'search-files '*)
            choices=(
                '--path:Directory to search below, `.` for all'
                '--pattern:Glob such as `*.py` or `src/**/*.ts`, or a part of the name'
                '--arguments:All parameters as a JSON object'
                '--json:Print the result as JSON'
                '--output:Write the content of the result to a file'
                '--yes:Approve the call without a question'
                '--help:Show the help'
            ) ;;
        'files get-file-info'|'files get-file-info '*|'get-file-info'|'get-file-info '*)
            choices=(
                '--path:Path of the file or directory'
                '--arguments:All parameters as a JSON object'
                '--json:Print the result as JSON'
                '--output:Write the content of the result to a file'
                '--yes:Approve the call without a question'
                '--help:Show the help'
            ) ;;
        'files directory-tree'|'files directory-tree '*|'directory-tree'|'directory-tree '*)
            choices=(
                '--path:Directory to start from, `.` for all'
                '--max-depth:How many levels to go down'
                '--exclude-dirs:Names or globs of directories to leave out, besides those always left out, such as `fixtures` or `*.'
                '--arguments:All parameters as a JSON object'
                '--json:Print the result as JSON'
                '--output:Write the content of the result to a file'
                '--yes:Approve the call without a question'
                '--help:Show the help'
            ) ;;
        'files grep-content'|'files grep-content '*|'grep-content'|'grep-content '*)
            choices=(
                '--pattern:Regular expression'
                '--search-path:File or directory to search'
                '--case-insensitive:Take upper and lower case as the same'
                '--no-case-insensitive:Take upper and lower case as the same'
                '--context-lines:Lines to show before and after each match'
                '--section-patterns:Regular expressions (Python syntax) of the lines at which sections begin'
                '--arguments:All parameters as a JSON object'
                '--json:Print the result as JSON'
                '--output:Write the content of the result to a file'
                '--yes:Approve the call without a question'
                '--help:Show the help'
            ) ;;
        'editing')
            choices=(
                'propose-and-review:Edit, create, append to or overwrite a file after the user'\''s review'
                'commit-review:Write the text that the user saved in a REVIEW'
                'review-status:Get the decision on a proposed change, or list the pending reviews'
                'create-directory:Create a directory and its missing parents'
                'write-file:Write a whole text file without a review: create or replace it'
                'append-text:Append text to the end of a file'
                'move-file:Move or rename a file or directory'
            ) ;;
        'editing propose-and-review'|'editing propose-and-review '*|'propose-and-review'|'propose-and-review '*)
            choices=(
                '--path:Path of the file'
                '--files:FILES: use it for a change of 2 or more files'
                '--edits:BATCH: use it for ANY 2 or more changes of the file'
                '--match-text:SINGLE: text to replace, exactly as in the file, at most 2,000 characters'
                '--new-string:Text to write'
                '--expected-replacements:SINGLE: how many times match_text occurs, 1 if left out'
                '--bypass-match-text-limit:Allow a match_text of more than 2,000 characters'
                '--no-bypass-match-text-limit:Allow a match_text of more than 2,000 characters'
                '--encoding:Encoding of the file, such as `gbk` or `windows-1252`, where an error says that it is not certain'
                '--session-path:Only after a REVIEW: its session_path, to change the text that the user saw or edited'
                '--again:Make the change once more, although the same call wrote it in the last 10 minutes'
                '--no-again:Make the change once more, although the same call wrote it in the last 10 minutes'
                '--arguments:All parameters as a JSON object'
                '--json:Print the result as JSON'
                '--output:Write the content of the result to a file'
                '--yes:Approve the call without a question'
                '--help:Show the help'
            ) ;;
        'editing commit-review'|'editing commit-review '*|'commit-review'|'commit-review '*)
            choices=(
                '--session-path:session_path of the REVIEW'
                '--original-path:Path of the file that was proposed'
                '--arguments:All parameters as a JSON object'
                '--json:Print the result as JSON'
                '--output:Write the content of the result to a file'
                '--yes:Approve the call without a question'
                '--help:Show the help'
            ) ;;
        'editing review-status'|'editing review-status '*|'review-status'|'review-status '*)
            choices=(
                '--session-path:Id of one review'
                '--wait-s:Seconds to wait for the decision'
                '--arguments:All parameters as a JSON object'
                '--json:Print the result as JSON'
                '--output:Write the content of the result to a file'
                '--yes:Approve the call without a question'
                '--help:Show the help'
            ) ;;
        'editing create-directory'|'editing create-directory '*|'create-directory'|'create-directory '*)
            choices=(
                '--path:Path of the directory'
                '--arguments:All parameters as a JSON object'
                '--json:Print the result as JSON'
                '--output:Write the content of the result to a file'
                '--yes:Approve the call without a question'
                '--help:Show the help'
            ) ;;
        'editing write-file'|'editing write-file '*|'write-file'|'write-file '*)
            choices=(
                '--path:Path of the file'
                '--content:The whole new content'
                '--encoding:Encoding of the file, such as `gbk`'
                '--arguments:All parameters as a JSON object'
                '--json:Print the result as JSON'
                '--output:Write the content of the result to a file'
                '--yes:Approve the call without a question'
                '--help:Show the help'
            ) ;;
        'editing append-text'|'editing append-text '*|'append-text'|'append-text '*)
            choices=(
                '--path:Path of the file'
                '--content:The text to add'
                '--encoding:Encoding of the file, such as `gbk`'
                '--arguments:All parameters as a JSON object'
                '--json:Print the result as JSON'
                '--output:Write the content of the result to a file'
                '--yes:Approve the call without a question'
                '--help:Show the help'
            ) ;;
        'editing move-file'|'editing move-file '*|'move-file'|'move-file '*)
            choices=(
                '--source:Path of the file or directory'
                '--destination:Its new path, with its name'
                '--arguments:All parameters as a JSON object'
                '--json:Print the result as JSON'
                '--output:Write the content of the result to a file'
                '--yes:Approve the call without a question'
                '--help:Show the help'
            ) ;;
        'query')
            choices=(
                'json:Run a jq expression over a JSON file'
                'yaml:Run a jq expression over a YAML file'
                'toml:Run a jq expression over a TOML file'
            ) ;;
        'query json'|'query json '*|'query-json'|'query-json '*)
            choices=(
                '--file-path:Path of the JSON file'
                '--jq-expression:jq expression, such as `.dependencies | keys`'
                '--timeout:Seconds after which the query is ended'
                '--arguments:All parameters as a JSON object'
                '--json:Print the result as JSON'
                '--output:Write the content of the result to a file'
                '--yes:Approve the call without a question'
                '--help:Show the help'
            ) ;;
        'query yaml'|'query yaml '*|'query-yaml'|'query-yaml '*)
            choices=(
                '--file-path:Path of the YAML file'
                '--yq-expression:jq expression, such as `.services | keys`'
                '--timeout:Seconds after which the query is ended'
                '--arguments:All parameters as a JSON object'
                '--json:Print the result as JSON'
                '--output:Write the content of the result to a file'
                '--yes:Approve the call without a question'
                '--help:Show the help'
            ) ;;
        'query toml'|'query toml '*|'query-toml'|'query-toml '*)
            choices=(
                '--file-path:Path of the TOML file'
                '--jq-expression:jq expression, such as `.project.dependencies`'
                '--timeout:Seconds after which the query is ended'
                '--arguments:All parameters as a JSON object'
                '--json:Print the result as JSON'
                '--output:Write the content of the result to a file'
                '--yes:Approve the call without a question'
                '--help:Show the help'
            ) ;;
        'notes')
            choices=(
                'analyze-work-log:Outline a GSD-Lite work log: entries, tasks, status, tokens'
            ) ;;
        'notes analyze-work-log'|'notes analyze-work-log '*|'analyze-work-log'|'analyze-work-log '*)
            case ${words[CURRENT-1]} in
                --output-format) values=('json' 'table') ;;
            esac
            choices=(
                '--file-path:Path of the work log'
                '--output-format:json: every entry with all its fields'
                '--arguments:All parameters as a JSON object'
                '--json:Print the result as JSON'
                '--output:Write the content of the result to a file'
                '--yes:Approve the call without a question'
                '--help:Show the help'
            ) ;;
        'research')
            choices=(
                'quick-query:Ask a fast large-context model one question about the project'
                'deep-research:Have the best large-context model investigate a hard question thoroughly'
                'validate-paths:Check that paths exist and may be read, before using them'
                'analyze-directory:Map a directory: one sentence on what each file does'
                'health-check:Check whether tools that ask the model can work here, and why not'
                'ask-gemini:Ask a large-context model anything, with or without the project'
                'grounding-search:Search the web and answer from the results, with sources'
                'analyze-codebase:Describe the architecture or another aspect of a whole project in prose'
                'query-codebase:Answer up to ten questions about a codebase in short facts with references'
                'find-code-by-intent:Find code by describing what it does, when its name is not known'
                'trace-feature:Follow how a feature runs through the code, call by call'
                'list-error-patterns:List how a project handles errors, logging, concurrency or databases'
            ) ;;
        'research quick-query'|'research quick-query '*|'quick-query'|'quick-query '*)
            case ${words[CURRENT-1]} in
                --focus) values=('security' 'architecture' 'performance' 'general') ;;
                --response-style) values=('concise' 'normal' 'detailed') ;;
                --depth) values=('files' 'explore') ;;
            esac
            choices=(
                '--prompt:The question, with `@path` for files or folders to hand over'
                '--focus:Aspect to focus on'
                '--response-style:Length of the answer'
                '--paths:Files, folders and globs to send'
                '--depth:`explore`: the model also searches and reads by itself'
                '--fresh:Ask again although the same was answered before'
                '--no-fresh:Ask again although the same was answered before'
                '--dry-run:Send nothing'
                '--no-dry-run:Send nothing'
                '--arguments:All parameters as a JSON object'
                '--json:Print the result as JSON'
                '--output:Write the content of the result to a file'
                '--yes:Approve the call without a question'
                '--help:Show the help'
            ) ;;
        'research deep-research'|'research deep-research '*|'deep-research'|'deep-research '*)
            case ${words[CURRENT-1]} in
                --focus) values=('security' 'architecture' 'performance' 'general') ;;
                --citation-mode) values=('none' 'paths_only') ;;
                --depth) values=('files' 'explore') ;;
            esac
            choices=(
                '--prompt:The question, with `@path` for files or folders to hand over'
                '--focus:Aspect to focus on'
                '--citation-mode:`paths_only`: end with a section that lists the files the answer rests on'
                '--paths:Files, folders and globs to send'
                '--depth:`explore`: the model also searches and reads by itself, in several steps'
                '--fresh:Ask again although an equal question about equal files was answered'
                '--no-fresh:Ask again although an equal question about equal files was answered'
                '--dry-run:Send nothing: return the files and the cost of what would be sent'
                '--no-dry-run:Send nothing: return the files and the cost of what would be sent'
                '--arguments:All parameters as a JSON object'
                '--json:Print the result as JSON'
                '--output:Write the content of the result to a file'
                '--yes:Approve the call without a question'
                '--help:Show the help'
            ) ;;
        'research validate-paths'|'research validate-paths '*|'validate-paths'|'validate-paths '*)
            choices=(
                '--paths:Paths to check'
                '--arguments:All parameters as a JSON object'
                '--json:Print the result as JSON'
                '--output:Write the content of the result to a file'
                '--yes:Approve the call without a question'
                '--help:Show the help'
            ) ;;
        'research analyze-directory'|'research analyze-directory '*|'analyze-directory'|'analyze-directory '*)
            choices=(
                '--path:The directory, relative to the project'\''s root or absolute'
                '--depth:Maximum depth of folders'
                '--max-files:Most files to list, up to 2000'
                '--fresh:Ask again although an equal question about equal files was answered'
                '--no-fresh:Ask again although an equal question about equal files was answered'
                '--dry-run:Send nothing: return the files and the cost of what would be sent'
                '--no-dry-run:Send nothing: return the files and the cost of what would be sent'
                '--arguments:All parameters as a JSON object'
                '--json:Print the result as JSON'
                '--output:Write the content of the result to a file'
                '--yes:Approve the call without a question'
                '--help:Show the help'
            ) ;;
        'research health-check'|'research health-check '*|'health-check'|'health-check '*)
            choices=(
                '--include-diagnostics:Add the details, such as versions, the kind of account and statistics'
                '--no-include-diagnostics:Add the details, such as versions, the kind of account and statistics'
                '--arguments:All parameters as a JSON object'
                '--json:Print the result as JSON'
                '--output:Write the content of the result to a file'
                '--yes:Approve the call without a question'
                '--help:Show the help'
            ) ;;
        'research ask-gemini'|'research ask-gemini '*|'ask-gemini'|'ask-gemini '*)
            choices=(
                '--prompt:Question or task, with all the model has to know'
                '--include-codebase-context:Send the files of the project that fit the prompt'
                '--no-include-codebase-context:Send the files of the project that fit the prompt'
                '--temperature:Randomness'
                '--paths:Files, folders and globs to send'
                '--fresh:Ask again although an equal question about equal files was answered'
                '--no-fresh:Ask again although an equal question about equal files was answered'
                '--dry-run:Send nothing: return the files and the cost of what would be sent'
                '--no-dry-run:Send nothing: return the files and the cost of what would be sent'
                '--arguments:All parameters as a JSON object'
                '--json:Print the result as JSON'
                '--output:Write the content of the result to a file'
                '--yes:Approve the call without a question'
                '--help:Show the help'
            ) ;;
        'research grounding-search'|'research grounding-search '*|'grounding-search'|'grounding-search '*)
            choices=(
                '--query:Question in plain words, with names and versions that matter'
                '--arguments:All parameters as a JSON object'
                '--json:Print the result as JSON'
                '--output:Write the content of the result to a file'
                '--yes:Approve the call without a question'
                '--help:Show the help'
            ) ;;
        'research analyze-codebase'|'research analyze-codebase '*|'analyze-codebase'|'analyze-codebase '*)
            choices=(
                '--focus-description:What to look at, such as `how requests are authenticated`'
                '--directories:Directories to read, separated by commas'
                '--file-patterns:Globs of files to look at, separated by commas, such as `*.py, src/**/*.{ts,tsx}`'
                '--exclude-patterns:Globs of files and directories to leave out, separated by commas, such as `tests, *.min.js`'
                '--fresh:Ask again although an equal question about equal files was answered'
                '--no-fresh:Ask again although an equal question about equal files was answered'
                '--dry-run:Send nothing: return the files and the cost of what would be sent'
                '--no-dry-run:Send nothing: return the files and the cost of what would be sent'
                '--arguments:All parameters as a JSON object'
                '--json:Print the result as JSON'
                '--output:Write the content of the result to a file'
                '--yes:Approve the call without a question'
                '--help:Show the help'
            ) ;;
        'research query-codebase'|'research query-codebase '*|'query-codebase'|'query-codebase '*)
            choices=(
                '--questions:Specific questions, one fact each'
                '--scope:Directory to look at, such as `src/`'
                '--include-patterns:Globs of the only files to look at, such as `*.py` or `src/**/*.{ts,tsx}`'
                '--exclude-patterns:Globs of files and directories to leave out, such as `tests` or `*.min.js`'
                '--max-tokens-per-answer:Budget of each answer'
                '--fresh:Ask again although an equal question about equal files was answered'
                '--no-fresh:Ask again although an equal question about equal files was answered'
                '--dry-run:Send nothing: return the files and the cost of what would be sent'
                '--no-dry-run:Send nothing: return the files and the cost of what would be sent'
                '--arguments:All parameters as a JSON object'
                '--json:Print the result as JSON'
                '--output:Write the content of the result to a file'
                '--yes:Approve the call without a question'
                '--help:Show the help'
            ) ;;
        'research find-code-by-intent'|'research find-code-by-intent '*|'find-code-by-intent'|'find-code-by-intent '*)
            case ${words[CURRENT-1]} in
                --return-format) values=('summary_with_references' 'detailed_with_snippets') ;;
            esac
            choices=(
                '--intent:What the code does, such as `retries failed uploads`'
                '--return-format:summary_with_references: places alone'
                '--max-files:Most files to name'
                '--scope:Directory to look at, such as `src/`'
                '--fresh:Ask again although an equal question about equal files was answered'
                '--no-fresh:Ask again although an equal question about equal files was answered'
                '--dry-run:Send nothing: return the files and the cost of what would be sent'
                '--no-dry-run:Send nothing: return the files and the cost of what would be sent'
                '--arguments:All parameters as a JSON object'
                '--json:Print the result as JSON'
                '--output:Write the content of the result to a file'
                '--yes:Approve the call without a question'
                '--help:Show the help'
            ) ;;
        'research trace-feature'|'research trace-feature '*|'trace-feature'|'trace-feature '*)
            choices=(
                '--feature:The feature, such as `password reset`'
                '--entry-point:Start of the feature, such as `src/app.py:main`, a function or a route'
                '--max-depth:Levels of calls to follow'
                '--include-data-flow:Add the data that steps pass to each other'
                '--no-include-data-flow:Add the data that steps pass to each other'
                '--fresh:Ask again although an equal question about equal files was answered'
                '--no-fresh:Ask again although an equal question about equal files was answered'
                '--dry-run:Send nothing: return the files and the cost of what would be sent'
                '--no-dry-run:Send nothing: return the files and the cost of what would be sent'
                '--arguments:All parameters as a JSON object'
                '--json:Print the result as JSON'
                '--output:Write the content of the result to a file'
                '--yes:Approve the call without a question'
                '--help:Show the help'
            ) ;;
        'research list-error-patterns'|'research list-error-patterns '*|'list-error-patterns'|'list-error-patterns '*)
            case ${words[CURRENT-1]} in
                --pattern-type) values=('error_handling' 'logging' 'async_patterns' 'database_queries') ;;
                --group-by) values=('pattern' 'file' 'severity') ;;
            esac
            choices=(
                '--pattern-type:Which patterns'
                '--directory:Directory to look at, such as `src/`'
                '--group-by:How the result is grouped'
                '--fresh:Ask again although an equal question about equal files was answered'
                '--no-fresh:Ask again although an equal question about equal files was answered'
                '--dry-run:Send nothing: return the files and the cost of what would be sent'
                '--no-dry-run:Send nothing: return the files and the cost of what would be sent'
                '--arguments:All parameters as a JSON object'
                '--json:Print the result as JSON'
                '--output:Write the content of the result to a file'
                '--yes:Approve the call without a question'
                '--help:Show the help'
            ) ;;
        'validation')
            choices=(
                'validate-against-codebase:Check a specification for gaps and wrong assumptions about the code'
                'check-consistency:Check whether new code follows the conventions of the project'
            ) ;;
        'validation validate-against-codebase'|'validation validate-against-codebase '*|'validate-against-codebase'|'validate-against-codebase '*)
            choices=(
                '--spec-content:The specification itself, not its path'
                '--validation-checks:Checks to make: missing_files, undefined_dependencies, pattern_violations, completeness'
                '--codebase-context:Facts about the project that you know already'
                '--fresh:Ask again although an equal question about equal files was answered'
                '--no-fresh:Ask again although an equal question about equal files was answered'
                '--dry-run:Send nothing: return the files and the cost of what would be sent'
                '--no-dry-run:Send nothing: return the files and the cost of what would be sent'
                '--arguments:All parameters as a JSON object'
                '--json:Print the result as JSON'
                '--output:Write the content of the result to a file'
                '--yes:Approve the call without a question'
                '--help:Show the help'
            ) ;;
        'validation check-consistency'|'validation check-consistency '*|'check-consistency'|'check-consistency '*)
            case ${words[CURRENT-1]} in
                --focus) values=('naming_conventions' 'error_handling' 'testing' 'api_design' 'all') ;;
            esac
            choices=(
                '--focus:Which conventions'
                '--new-code-or-spec:The code or plan itself, not its path'
                '--scope:Directory whose conventions count, such as `src/`'
                '--fresh:Ask again although an equal question about equal files was answered'
                '--no-fresh:Ask again although an equal question about equal files was answered'
                '--dry-run:Send nothing: return the files and the cost of what would be sent'
                '--no-dry-run:Send nothing: return the files and the cost of what would be sent'
                '--arguments:All parameters as a JSON object'
                '--json:Print the result as JSON'
                '--output:Write the content of the result to a file'
                '--yes:Approve the call without a question'
                '--help:Show the help'
            ) ;;
        'workflows')
            choices=(
                'setup-workflows:Install recommended workflows and their slash commands in a project'
                'generate-slash-command:Create a custom slash command for the user'\''s client'
                'generate-feature-workflow:Plan a feature as a workflow file with steps for this project'
            ) ;;
        'workflows setup-workflows'|'workflows setup-workflows '*|'setup-workflows'|'setup-workflows '*)
            case ${words[CURRENT-1]} in
                --host) values=('claude-code' 'gemini-cli' 'opencode' 'cursor') ;;
            esac
            choices=(
                '--workflows:Names: spec-only, feature, refactor, review, all'
                '--output-dir:Directory of the project'
                '--overwrite:Replace existing files'
                '--no-overwrite:Replace existing files'
                '--include-commands:Also write a slash command for each workflow'
                '--no-include-commands:Also write a slash command for each workflow'
                '--command-prefix:Prefix of the commands'
                '--workflow-prefix:Prefix of the workflow files'
                '--host:Client that reads the commands'
                '--arguments:All parameters as a JSON object'
                '--json:Print the result as JSON'
                '--output:Write the content of the result to a file'
                '--yes:Approve the call without a question'
                '--help:Show the help'
            ) ;;
        'workflows generate-slash-command'|'workflows generate-slash-command '*|'generate-slash-command'|'generate-slash-command '*)
            case ${words[CURRENT-1]} in
                --workflow-type) values=('feature' 'refactor' 'debug' 'review' 'custom') ;;
                --host) values=('claude-code' 'gemini-cli' 'opencode' 'cursor') ;;
            esac
            choices=(
                '--command-name:Name without prefix, such as `add-feature`'
                '--workflow-type:Source of the steps'
                '--description:Purpose of the command, in a sentence'
                '--steps:The steps of a custom command, in order'
                '--save-to:Path of the file'
                '--prefix:Prefix of the name'
                '--host:Client that reads the command'
                '--overwrite:Replace an existing file'
                '--no-overwrite:Replace an existing file'
                '--arguments:All parameters as a JSON object'
                '--json:Print the result as JSON'
                '--output:Write the content of the result to a file'
                '--yes:Approve the call without a question'
                '--help:Show the help'
            ) ;;
        'workflows generate-feature-workflow'|'workflows generate-feature-workflow '*|'generate-feature-workflow'|'generate-feature-workflow '*)
            case ${words[CURRENT-1]} in
                --workflow-style) values=('interactive' 'automated' 'template') ;;
            esac
            choices=(
                '--feature-description:The feature, with everything that the model must know'
                '--workflow-style:interactive asks the user between steps, automated does not, template uses the packaged workflow'
                '--save-to:Path of the file (.md)'
                '--include-validation-steps:Include steps that check the result'
                '--no-include-validation-steps:Include steps that check the result'
                '--overwrite:Replace an existing file'
                '--no-overwrite:Replace an existing file'
                '--arguments:All parameters as a JSON object'
                '--json:Print the result as JSON'
                '--output:Write the content of the result to a file'
                '--yes:Approve the call without a question'
                '--help:Show the help'
            ) ;;
        'git')
            choices=(
                'status:Show which files are changed, staged or untracked in a repository'
                'log:Show the commits of a branch, a range or a file, newest first'
                'diff:Show what changed: unstaged, staged, or between two revisions'
                'show:Show one commit with its changes, or a file as it was in a revision'
                'blame:Show who last changed each line of a file, and in which commit'
                'branch:List branches with their latest commit'
                'add:Stage files for the next commit'
                'commit:Commit what is staged, with a message'
            ) ;;
        'git status'|'git status '*|'git-status'|'git-status '*)
            case ${words[CURRENT-1]} in
                --untracked) values=('no' 'normal' 'all') ;;
            esac
            choices=(
                '--repository:Directory inside the repository'
                '--untracked:Untracked files: none of them, folders as one line, or every file'
                '--paths:Only these files and directories'
                '--arguments:All parameters as a JSON object'
                '--json:Print the result as JSON'
                '--output:Write the content of the result to a file'
                '--yes:Approve the call without a question'
                '--help:Show the help'
            ) ;;
        'git log'|'git log '*|'git-log'|'git-log '*)
            case ${words[CURRENT-1]} in
                --format) values=('oneline' 'short' 'medium' 'full' 'fuller') ;;
            esac
            choices=(
                '--repository:Directory inside the repository'
                '--max-count:Most commits to show'
                '--skip:Commits to pass over first, to go on where an answer ended'
                '--format:How much of each commit'
                '--author:Only commits whose author contains this text'
                '--regexp:Take `author` and `message` for extended regular expressions'
                '--no-regexp:Take `author` and `message` for extended regular expressions'
                '--since:Only commits after this time, such as `2 weeks ago` or 2026-01-31'
                '--until:Only commits before this time'
                '--message:Only commits whose message contains this text'
                '--changed-text:Only commits that added or removed this exact text'
                '--stat:Add which files changed, and how much'
                '--no-stat:Add which files changed, and how much'
                '--patch:Add the changes themselves'
                '--no-patch:Add the changes themselves'
                '--revision:Branch, tag, commit or range such as `main..topic`'
                '--paths:Only commits that touch these files and folders'
                '--arguments:All parameters as a JSON object'
                '--json:Print the result as JSON'
                '--output:Write the content of the result to a file'
                '--yes:Approve the call without a question'
                '--help:Show the help'
            ) ;;
        'git diff'|'git diff '*|'git-diff'|'git-diff '*)
            choices=(
                '--repository:Directory inside the repository'
                '--staged:Staged changes, instead of unstaged ones'
                '--no-staged:Staged changes, instead of unstaged ones'
                '--summary:Only which files changed, and how much'
                '--no-summary:Only which files changed, and how much'
                '--context-lines:Unchanged lines around each change'
                '--ignore-space:Pass over changes of white space'
                '--no-ignore-space:Pass over changes of white space'
                '--revision:Commit or range to compare with'
                '--paths:Only these files and directories'
                '--arguments:All parameters as a JSON object'
                '--json:Print the result as JSON'
                '--output:Write the content of the result to a file'
                '--yes:Approve the call without a question'
                '--help:Show the help'
            ) ;;
        'git show'|'git show '*|'git-show'|'git-show '*)
            choices=(
                '--repository:Directory inside the repository'
                '--summary:Only which files changed, and how much, in place of the patch'
                '--no-summary:Only which files changed, and how much, in place of the patch'
                '--object:Commit, tag or branch, or `REVISION:PATH` for a file'
                '--paths:Only the changes of the commit in these files and folders'
                '--arguments:All parameters as a JSON object'
                '--json:Print the result as JSON'
                '--output:Write the content of the result to a file'
                '--yes:Approve the call without a question'
                '--help:Show the help'
            ) ;;
        'git blame'|'git blame '*|'git-blame'|'git-blame '*)
            choices=(
                '--repository:Folder inside the repository'
                '--lines:First and last line, such as `10,20`, or first and how many, such as `10,+5`'
                '--ignore-space:Pass over changes of white space'
                '--no-ignore-space:Pass over changes of white space'
                '--revision:Revision to start from'
                '--path:The file'
                '--arguments:All parameters as a JSON object'
                '--json:Print the result as JSON'
                '--output:Write the content of the result to a file'
                '--yes:Approve the call without a question'
                '--help:Show the help'
            ) ;;
        'git branch'|'git branch '*|'git-branch'|'git-branch '*)
            choices=(
                '--repository:Folder inside the repository'
                '--all:Remote-tracking branches too'
                '--no-all:Remote-tracking branches too'
                '--contains:Only branches that hold this commit'
                '--merged:Only branches whose commits are all in this one'
                '--patterns:Only branches whose name fits one of these, such as `feature/*`'
                '--arguments:All parameters as a JSON object'
                '--json:Print the result as JSON'
                '--output:Write the content of the result to a file'
                '--yes:Approve the call without a question'
                '--help:Show the help'
            ) ;;
        'git add'|'git add '*|'git-add'|'git-add '*)
            choices=(
                '--repository:Directory inside the repository'
                '--paths:Files and folders to stage'
                '--arguments:All parameters as a JSON object'
                '--json:Print the result as JSON'
                '--output:Write the content of the result to a file'
                '--yes:Approve the call without a question'
                '--help:Show the help'
            ) ;;
        'git commit'|'git commit '*|'git-commit'|'git-commit '*)
            choices=(
                '--repository:Folder inside the repository'
                '--message:Subject of at most 72 characters'
                '--arguments:All parameters as a JSON object'
                '--json:Print the result as JSON'
                '--output:Write the content of the result to a file'
                '--yes:Approve the call without a question'
                '--help:Show the help'
            ) ;;
        'github')
            choices=(
                'gh-pr-list:List pull requests of a GitHub repository'
                'gh-pr-view:Show one pull request of GitHub: description or comments'
                'gh-issue-list:List issues of a GitHub repository'
                'gh-issue-view:Show one issue of GitHub: description or comments'
                'gh-api:Send a request to the REST API of GitHub'
            ) ;;
        'github gh-pr-list'|'github gh-pr-list '*|'gh-pr-list'|'gh-pr-list '*)
            case ${words[CURRENT-1]} in
                --state) values=('open' 'closed' 'merged' 'all') ;;
            esac
            choices=(
                '--directory:Directory of a clone'
                '--repo:Repository as OWNER/NAME'
                '--state:Which pull requests'
                '--limit:Maximum number'
                '--author:Author'
                '--labels:Labels, all required'
                '--search:A query of GitHub, such as `review:required`'
                '--arguments:All parameters as a JSON object'
                '--json:Print the result as JSON'
                '--output:Write the content of the result to a file'
                '--yes:Approve the call without a question'
                '--help:Show the help'
            ) ;;
        'github gh-pr-view'|'github gh-pr-view '*|'gh-pr-view'|'gh-pr-view '*)
            choices=(
                '--directory:Directory of a clone'
                '--number:Number of the pull request'
                '--repo:Repository as OWNER/NAME'
                '--comments:The comments, in place of the description'
                '--no-comments:The comments, in place of the description'
                '--arguments:All parameters as a JSON object'
                '--json:Print the result as JSON'
                '--output:Write the content of the result to a file'
                '--yes:Approve the call without a question'
                '--help:Show the help'
            ) ;;
        'github gh-issue-list'|'github gh-issue-list '*|'gh-issue-list'|'gh-issue-list '*)
            case ${words[CURRENT-1]} in
                --state) values=('open' 'closed' 'all') ;;
            esac
            choices=(
                '--directory:Directory of a clone'
                '--repo:Repository as OWNER/NAME'
                '--state:Which issues'
                '--limit:Most of them to list'
                '--assignee:Only those assigned to this user, `@me` for your own'
                '--author:Only those opened by this user'
                '--labels:Only those that have all of these labels'
                '--search:Only those that fit this query of GitHub, such as `crash in:title`'
                '--arguments:All parameters as a JSON object'
                '--json:Print the result as JSON'
                '--output:Write the content of the result to a file'
                '--yes:Approve the call without a question'
                '--help:Show the help'
            ) ;;
        'github gh-issue-view'|'github gh-issue-view '*|'gh-issue-view'|'gh-issue-view '*)
            choices=(
                '--directory:Directory of a clone'
                '--number:Number of the issue'
                '--repo:Repository as OWNER/NAME'
                '--comments:The comments, in place of the description'
                '--no-comments:The comments, in place of the description'
                '--arguments:All parameters as a JSON object'
                '--json:Print the result as JSON'
                '--output:Write the content of the result to a file'
                '--yes:Approve the call without a question'
                '--help:Show the help'
            ) ;;
        'github gh-api'|'github gh-api '*|'gh-api'|'gh-api '*)
            case ${words[CURRENT-1]} in
                --method) values=('GET' 'HEAD' 'POST' 'PUT' 'PATCH' 'DELETE') ;;
            esac
            choices=(
                '--directory:Directory of a clone, for placeholders in the path'
                '--endpoint:Path of the resource, such as `repos/{owner}/{repo}/releases`'
                '--method:HTTP method'
                '--fields:Parameters as `name=value`: of the query for GET, else of the body'
                '--paginate:Fetch all pages'
                '--no-paginate:Fetch all pages'
                '--arguments:All parameters as a JSON object'
                '--json:Print the result as JSON'
                '--output:Write the content of the result to a file'
                '--yes:Approve the call without a question'
                '--help:Show the help'
            ) ;;
        'docker')
            choices=(
                'ps:List Docker containers with image, state and ports'
                'images:List local Docker images with tag and size'
                'logs:Show the log of a Docker container'
                'inspect:Show all settings of Docker containers, images, volumes or networks as JSON'
            ) ;;
        'docker ps'|'docker ps '*|'docker-ps'|'docker-ps '*)
            choices=(
                '--all:Stopped containers too'
                '--no-all:Stopped containers too'
                '--filters:Only containers that fit, such as `status=exited` or `name=web`'
                '--arguments:All parameters as a JSON object'
                '--json:Print the result as JSON'
                '--output:Write the content of the result to a file'
                '--yes:Approve the call without a question'
                '--help:Show the help'
            ) ;;
        'docker images'|'docker images '*|'docker-images'|'docker-images '*)
            choices=(
                '--all:Intermediate images too'
                '--no-all:Intermediate images too'
                '--filters:Only images that fit, such as `dangling=true`'
                '--repository:Only images of this repository, such as `alpine` or `alpine:3`'
                '--arguments:All parameters as a JSON object'
                '--json:Print the result as JSON'
                '--output:Write the content of the result to a file'
                '--yes:Approve the call without a question'
                '--help:Show the help'
            ) ;;
        'docker logs'|'docker logs '*|'docker-logs'|'docker-logs '*)
            choices=(
                '--container:Name or id of the container'
                '--tail:Lines from the end'
                '--since:Only from this time on: an age such as `10m`, or a timestamp'
                '--timestamps:Put the time before each line'
                '--no-timestamps:Put the time before each line'
                '--arguments:All parameters as a JSON object'
                '--json:Print the result as JSON'
                '--output:Write the content of the result to a file'
                '--yes:Approve the call without a question'
                '--help:Show the help'
            ) ;;
        'docker inspect'|'docker inspect '*|'docker-inspect'|'docker-inspect '*)
            case ${words[CURRENT-1]} in
                --type) values=('container' 'image' 'volume' 'network') ;;
            esac
            choices=(
                '--type:Type of the named objects'
                '--names:Names or ids'
                '--arguments:All parameters as a JSON object'
                '--json:Print the result as JSON'
                '--output:Write the content of the result to a file'
                '--yes:Approve the call without a question'
                '--help:Show the help'
            ) ;;
        'system')
            choices=(
                'word-count:Count lines, words and bytes of files with wc'
                'disk-usage:Measure how much disk space folders take up, with du'
                'disk-free:Show how much room is left on the disk of a path, with df'
            ) ;;
        'system word-count'|'system word-count '*|'word-count'|'word-count '*)
            choices=(
                '--lines:Count lines'
                '--no-lines:Count lines'
                '--words:Count words'
                '--no-words:Count words'
                '--bytes:Count bytes'
                '--no-bytes:Count bytes'
                '--paths:The files'
                '--arguments:All parameters as a JSON object'
                '--json:Print the result as JSON'
                '--output:Write the content of the result to a file'
                '--yes:Approve the call without a question'
                '--help:Show the help'
            ) ;;
        'system disk-usage'|'system disk-usage '*|'disk-usage'|'disk-usage '*)
            choices=(
                '--max-depth:Levels of folders to list'
                '--paths:Folders and files'
                '--arguments:All parameters as a JSON object'
                '--json:Print the result as JSON'
                '--output:Write the content of the result to a file'
                '--yes:Approve the call without a question'
                '--help:Show the help'
            ) ;;
        'system disk-free'|'system disk-free '*|'disk-free'|'disk-free '*)
            choices=(
                '--paths:Files or folders on the disks to look at'
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
if [ "${funcstack[1]}" = "_toolmason_workbench" ]; then
    _toolmason_workbench "$@"
else
    compdef _toolmason_workbench toolmason-workbench
fi
# toolmason: sha256 3ea49d3f47e2a1fe71a45efaf95db2bf
