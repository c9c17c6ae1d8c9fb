# Completion of hermes-sessions for bash                     -*- shell-script -*-
# Written by tools/generate.py from the program's own commands; do not edit.
#
# Source it, or install it where the bash-completion package looks; it does without that package.

# Set what may follow a command; "" is the program itself.
_hermes_sessions_enter() {
    local filters
    filters='--older-than --newer-than --before --after --source --exclude-source --workspace --cwd --title --model --branch --provider --user --chat-id --chat-type --end-reason --min-messages --max-messages --min-tokens --max-tokens --min-cost --max-cost --min-tool-calls --max-tool-calls --pinned --not-pinned --archived --all'
    commands='' options='' arguments='' filtered='' passes_on=''
    case $1 in
    '')
        commands="list show search resume which workspaces stats doctor where rename new fork close pin unpin archive unarchive hide unhide relocate export import delete prune undo trash optimize refresh-prompts repair-prompts"
        options="-p --profile --home --db --demo -c --continue -r --resume --color -q --quiet --debug --version -h --help"
        ;;
    'list')
        options="-n --limit --sort --reverse --tree --no-fold --json --ids -0 --null -h --help $filters -p --profile --home --db --demo --color --quiet --debug"
        filtered="yes"
        ;;
    'show')
        options="-t --transcript --last --message -C --context -x --extract --raw --json -h --help -p --profile --home --db --demo --color --quiet --debug"
        arguments="ref"
        ;;
    'search')
        options="-n --limit --per-conversation --sort --role -C --context --literal --json --ids -0 --null -h --help $filters -p --profile --home --db --demo --color --quiet --debug"
        arguments="text..."
        filtered="yes"
        ;;
    'resume')
        options="--in --no-restore-cwd --print --dry-run --recap --no-recap --force --create-if-missing -h --help -p --profile --home --db --demo --color --quiet --debug"
        arguments="ref"
        passes_on="yes"
        ;;
    'which')
        options="--explain -h --help -p --profile --home --db --demo --color --quiet --debug"
        arguments="ref"
        ;;
    'workspaces')
        options="--all --json -h --help -p --profile --home --db --demo --color --quiet --debug"
        ;;
    'stats')
        options="--by --space -n --limit --json -h --help $filters -p --profile --home --db --demo --color --quiet --debug"
        filtered="yes"
        ;;
    'doctor')
        options="--full --json -h --help -p --profile --home --db --demo --color --quiet --debug"
        ;;
    'where')
        options="--json -h --help -p --profile --home --db --demo --color --quiet --debug"
        ;;
    'rename')
        options="--dry-run -y --yes --json --timeout -h --help -p --profile --home --db --demo --color --quiet --debug"
        arguments="ref text..."
        ;;
    'new')
        options="--title --source --model --system-prompt --id --dry-run -y --yes --json --timeout -h --help -p --profile --home --db --demo --color --quiet --debug"
        ;;
    'fork')
        options="--at --title --id --full --keep-open --dry-run -y --yes --json --timeout -h --help -p --profile --home --db --demo --color --quiet --debug"
        arguments="ref"
        ;;
    'close')
        options="--reason --dry-run -y --yes --json --timeout -h --help $filters -p --profile --home --db --demo --color --quiet --debug"
        arguments="ref..."
        filtered="yes"
        ;;
    'pin')
        options="--dry-run -y --yes --json --timeout -h --help -p --profile --home --db --demo --color --quiet --debug"
        arguments="ref..."
        ;;
    'unpin')
        options="--dry-run -y --yes --json --timeout -h --help -p --profile --home --db --demo --color --quiet --debug"
        arguments="ref..."
        ;;
    'archive')
        options="--dry-run -y --yes --json --timeout -h --help $filters -p --profile --home --db --demo --color --quiet --debug"
        arguments="ref..."
        filtered="yes"
        ;;
    'unarchive')
        options="--dry-run -y --yes --json --timeout -h --help $filters -p --profile --home --db --demo --color --quiet --debug"
        arguments="ref..."
        filtered="yes"
        ;;
    'hide')
        options="--dry-run -y --yes --json --timeout -h --help -p --profile --home --db --demo --color --quiet --debug"
        arguments="ref..."
        ;;
    'unhide')
        options="--dry-run -y --yes --json --timeout -h --help -p --profile --home --db --demo --color --quiet --debug"
        arguments="ref..."
        ;;
    'relocate')
        options="--dry-run -y --yes --json --timeout -h --help -p --profile --home --db --demo --color --quiet --debug"
        arguments="workspace directory"
        ;;
    'export')
        options="-o --output --format --session-id --only --lineage --redact --no-redact --delete-after-verified --force --dry-run -y --yes -h --help $filters -p --profile --home --db --demo --color --quiet --debug"
        arguments="file"
        filtered="yes"
        ;;
    'import')
        options="--from --dry-run -y --yes --json --timeout -h --help -p --profile --home --db --demo --color --quiet --debug"
        arguments="file"
        ;;
    'delete')
        options="--dry-run -y --yes --no-trash --json --timeout -h --help -p --profile --home --db --demo --color --quiet --debug"
        arguments="ref..."
        ;;
    'prune')
        options="--include-archived --include-pinned --never-active --orphans --max-delete --force --no-trash --dry-run -y --yes --json --timeout -h --help $filters -p --profile --home --db --demo --color --quiet --debug"
        filtered="yes"
        ;;
    'undo')
        options="--dry-run -y --yes --json --timeout -h --help -p --profile --home --db --demo --color --quiet --debug"
        arguments="text"
        ;;
    'trash')
        options="--dry-run -y --yes --json -h --help -p --profile --home --db --demo --color --quiet --debug"
        arguments="=list|show|empty text"
        ;;
    'optimize')
        options="--if-needed --fts-only --into --force --dry-run -y --yes --json --timeout -h --help -p --profile --home --db --demo --color --quiet --debug"
        ;;
    'refresh-prompts')
        options="--session --dry-run -y --yes --json --timeout -h --help $filters -p --profile --home --db --demo --color --quiet --debug"
        filtered="yes"
        ;;
    'repair-prompts')
        options="--apply --dry-run -y --yes --json --timeout -h --help -p --profile --home --db --demo --color --quiet --debug"
        arguments="ref"
        ;;
    esac
}

# Set kind to what the option $2 of the command $1 takes; fail if it is a flag.
_hermes_sessions_takes() {
    case $1:$2 in
    'list':-n | 'list':--limit) kind='text' ;;
    'list':--sort) kind='=activity|started|messages|cost|title' ;;
    'list':--json=) kind='field' ;;
    'show':--last | 'show':--message | 'show':-C | 'show':--context) kind='text' ;;
    'show':--json=) kind='field' ;;
    'search':-n | 'search':--limit | 'search':--per-conversation | 'search':-C | 'search':--context) kind='text' ;;
    'search':--sort) kind='=rank|newest|oldest' ;;
    'search':--role) kind='=user|assistant|tool|reasoning|all' ;;
    'search':--json=) kind='field' ;;
    'resume':--in) kind='directory' ;;
    'workspaces':--json=) kind='field' ;;
    'stats':--by) kind='=source|model|workspace|day|week|month|tool' ;;
    'stats':-n | 'stats':--limit) kind='text' ;;
    'stats':--json=) kind='field' ;;
    'doctor':--json=) kind='field' ;;
    'where':--json=) kind='field' ;;
    'rename':--json=) kind='field' ;;
    'rename':--timeout) kind='text' ;;
    'new':--title | 'new':--system-prompt | 'new':--id | 'new':--timeout) kind='text' ;;
    'new':--source) kind='source' ;;
    'new':--model) kind='model' ;;
    'new':--json=) kind='field' ;;
    'fork':--at | 'fork':--title | 'fork':--id | 'fork':--timeout) kind='text' ;;
    'fork':--json=) kind='field' ;;
    'close':--reason) kind='reason' ;;
    'close':--json=) kind='field' ;;
    'close':--timeout) kind='text' ;;
    'pin':--json=) kind='field' ;;
    'pin':--timeout) kind='text' ;;
    'unpin':--json=) kind='field' ;;
    'unpin':--timeout) kind='text' ;;
    'archive':--json=) kind='field' ;;
    'archive':--timeout) kind='text' ;;
    'unarchive':--json=) kind='field' ;;
    'unarchive':--timeout) kind='text' ;;
    'hide':--json=) kind='field' ;;
    'hide':--timeout) kind='text' ;;
    'unhide':--json=) kind='field' ;;
    'unhide':--timeout) kind='text' ;;
    'relocate':--json=) kind='field' ;;
    'relocate':--timeout) kind='text' ;;
    'export':-o | 'export':--output) kind='file' ;;
    'export':--format) kind='=jsonl|md|qmd|html|trace' ;;
    'export':--session-id) kind='ref' ;;
    'export':--only) kind='=user-prompts' ;;
    'export':--lineage) kind='=single|logical' ;;
    'import':--from) kind='=hermes|claude|codex' ;;
    'import':--json=) kind='field' ;;
    'import':--timeout) kind='text' ;;
    'delete':--json=) kind='field' ;;
    'delete':--timeout) kind='text' ;;
    'prune':--max-delete | 'prune':--timeout) kind='text' ;;
    'prune':--json=) kind='field' ;;
    'undo':--json=) kind='field' ;;
    'undo':--timeout) kind='text' ;;
    'trash':--json=) kind='field' ;;
    'optimize':--into) kind='file' ;;
    'optimize':--json=) kind='field' ;;
    'optimize':--timeout) kind='text' ;;
    'refresh-prompts':--session) kind='ref' ;;
    'refresh-prompts':--json=) kind='field' ;;
    'refresh-prompts':--timeout) kind='text' ;;
    'repair-prompts':--json=) kind='field' ;;
    'repair-prompts':--timeout) kind='text' ;;
    *:-p | *:--profile) kind='profile' ;;
    *:--home) kind='directory' ;;
    *:--db) kind='file' ;;
    *:--color) kind='=auto|always|never' ;;
    *) [[ $filtered ]] && _hermes_sessions_filter_takes "$2" ;;
    esac
}

# The same for the filters that several commands share.
_hermes_sessions_filter_takes() {
    case $1 in
    --older-than | --newer-than | --before | --after | --min-messages | --max-messages | --min-tokens | --max-tokens | --min-cost | --max-cost | --min-tool-calls | --max-tool-calls) kind='text' ;;
    --source | --exclude-source) kind='source' ;;
    --workspace) kind='workspace' ;;
    --cwd) kind='directory' ;;
    --title) kind='title' ;;
    --model) kind='model' ;;
    --branch) kind='branch' ;;
    --provider) kind='provider' ;;
    --user) kind='user' ;;
    --chat-id) kind='chat' ;;
    --chat-type) kind='chat_type' ;;
    --end-reason) kind='reason' ;;
    *) return 1 ;;
    esac
}

# Set command to the one that an option stands for; fail if it stands for none.
_hermes_sessions_means() {
    case $1 in
    -c | --continue | -r | --resume) command='resume' ;;
    *) return 1 ;;
    esac
}

# Take the quotes off $1: sets plain, and quote to the one that is still open.
_hermes_sessions_unquote() {
    local text=$1 char i
    plain='' quote=''
    for ((i = 0; i < ${#text}; i++)); do
        char=${text:i:1}
        if [[ $char == "$quote" ]]; then
            quote=''
            continue
        elif [[ ! $quote && $char == [\'\"] ]]; then
            quote=$char
            continue
        elif [[ $char == \\ && $quote != \' ]]; then
            if [[ ! $quote || ${text:i+1:1} == [\\\"\$\`] ]]; then
                ((i += 1))
                char=${text:i:1}
            fi
        fi
        plain+=$char
    done
}

# Quote $1 for the word at the cursor: sets quoted.
_hermes_sessions_quote() {
    local text=$1 char i
    quoted=$text
    if [[ ! $quote ]]; then
        [[ $text != *[!A-Za-z0-9_./,:=@+-]* ]] || printf -v quoted %q "$text"
        return
    fi
    quoted=''
    for ((i = 0; i < ${#text}; i++)); do
        char=${text:i:1}
        if [[ $quote == \' && $char == \' ]]; then
            char="'\\''"
        elif [[ $quote == \" && $char == [\\\"\$\`] ]]; then
            char="\\$char"
        fi
        quoted+=$char
    done
}

# Read the words up to the cursor. Bash splits them at = and : too: what stands together on the
# line is put together, without quotes. Sets words, current, raw (with quotes), quote, and skip:
# the start of current that readline takes for another word.
_hermes_sessions_split() {
    local line=${COMP_LINE:0:${COMP_POINT:-0}} part blanks plain i last=-1
    local -a typed=()
    [[ $line ]] || line="${COMP_WORDS[*]:0:COMP_CWORD+1}"
    for ((i = 0; i <= COMP_CWORD; i++)); do
        blanks=${line%%[![:space:]]*}
        line=${line#"$blanks"}
        part=${COMP_WORDS[i]}
        ((i < COMP_CWORD)) || part=$line
        skip=''
        if ((i > 0)) && [[ ! $blanks && $part ]]; then
            skip=${typed[last]}
        else
            ((last += 1))
        fi
        typed[last]=$skip$part
        [[ $part == [=:] ]] && skip+=$part
        line=${line#"$part"}
    done
    raw=${typed[last]}
    words=()
    for part in "${typed[@]}"; do
        _hermes_sessions_unquote "$part"
        words+=("$plain")
    done
    current=$plain
    part=$quote
    _hermes_sessions_unquote "$skip"
    skip=$plain quote=$part
}

# Find the command among the words, and what is being typed now: sets command, position (of the
# argument), kind (of an option's value) and behind (a -- came before).
_hermes_sessions_read() {
    local i=1 last=$((${#words[@]} - 1)) word
    _hermes_sessions_enter ''
    while ((i < last)); do
        word=${words[i]}
        ((i += 1))
        if [[ $behind || $word != -?* ]]; then
            if [[ ! $behind && $position == 0 && " $commands " == *" $word "* ]]; then
                command+=${command:+ }$word
                _hermes_sessions_enter "$command"
            else
                ((position += 1))
            fi
        elif [[ $word == -- ]]; then
            behind=yes
        elif [[ ! $command ]] && _hermes_sessions_means "${word%%=*}"; then
            _hermes_sessions_enter "$command"
            [[ $word != *=* ]] || position=1
        elif _hermes_sessions_takes "$command" "$word"; then
            ((i < last)) || return
            ((i += 1))
        fi
    done
    kind=''
}

# Offer those of these words that begin with what is typed.
_hermes_sessions_words() {
    local word
    for word in "$@"; do
        [[ $word != "$current"* ]] || COMPREPLY+=("$lead$word")
    done
}

# Offer paths; -d for directories only.
_hermes_sessions_paths() {
    local path cur=$raw
    if declare -F _filedir >/dev/null; then
        _filedir "$@"
        return
    fi
    compopt -o filenames 2>/dev/null
    while IFS= read -r path; do
        [[ ! $path ]] || COMPREPLY+=("$lead${path:${#skip}}")
    done <<<"$(compgen "${1:--f}" -- "$current")"
}

# Offer what hermes-sessions finds; with descriptions where bash only lists and inserts nothing.
_hermes_sessions_stored() {
    local program=${words[0]/#'~/'/$HOME/} value about quoted i wide=0
    local -a before=("${words[@]:1:${#words[@]}-2}") shown=() abouts=()
    type -P "$program" >/dev/null || program=hermes-sessions
    while IFS=$'\t' read -r value about; do
        [[ $value ]] || continue
        _hermes_sessions_quote "${value:${#skip}}"
        COMPREPLY+=("$lead$quoted")
        shown+=("$value")
        abouts+=("$about")
        ((${#value} <= wide)) || wide=${#value}
    done <<<"$("$program" __complete "$kind" "$current" -- "${before[@]}" 2>/dev/null)"
    [[ $kind != field ]] || compopt -o nospace 2>/dev/null
    if [[ ${COMP_TYPE-} == 63 ]] && ((${#COMPREPLY[@]} > 1)); then
        for ((i = 0; i < ${#shown[@]}; i++)); do
            printf -v value '%-*s  %s' "$wide" "${shown[i]}" "${abouts[i]}"
            COMPREPLY[i]=${value:0:${COLUMNS:-80}-1}
        done
    fi
}

_hermes_sessions() {
    local current='' raw='' quote='' skip='' lead='' command='' position=0 kind='' behind=''
    local commands options arguments filtered passes_on option
    local -a words=() expected
    COMPREPLY=()
    _hermes_sessions_split
    _hermes_sessions_read
    option=${current%%=*}
    if [[ ! $kind && ! $behind && $current == --*=* ]]; then
        _hermes_sessions_takes "$command" "$option" || _hermes_sessions_takes "$command" "$option="
        [[ $skip ]] || lead=$option=
        skip=${skip#"$option="} current=${current#*=} raw=${raw#*=}
    elif [[ ! $kind && ! $behind && $current == -* ]]; then
        _hermes_sessions_words $options
        return
    elif [[ ! $kind && $commands && $position == 0 && ! $behind ]]; then
        _hermes_sessions_words $commands
        return
    elif [[ ! $kind && (! $behind || ! $passes_on) ]]; then
        expected=($arguments)
        if ((position >= ${#expected[@]} && ${#expected[@]})); then
            position=$((${#expected[@]} - 1))
            [[ ${expected[position]} == *... ]] || return
        fi
        kind=${expected[position]-}
        kind=${kind%...}
    fi
    case $kind in
    '' | text) ;;
    =*)
        kind=${kind#=}
        _hermes_sessions_words ${kind//|/ }
        ;;
    file) _hermes_sessions_paths ;;
    directory) _hermes_sessions_paths -d ;;
    *) _hermes_sessions_stored ;;
    esac
}

complete -o nosort -F _hermes_sessions hermes-sessions 2>/dev/null ||
    complete -F _hermes_sessions hermes-sessions
