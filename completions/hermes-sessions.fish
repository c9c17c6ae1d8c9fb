# Completion of hermes-sessions for fish.
# Written by tools/generate.py from the program's own commands; do not edit.
#
# Put it into a directory of $fish_complete_path, or source it.

# Tell whether the value of option $argv[2] of the command $argv[1] is the next word.
function __hermes_sessions_takes
    contains -- $argv[2] -p --profile --home --db --color; and return
    switch $argv[1]
        case list
            contains -- $argv[2] -n --limit --sort --older-than --newer-than --before --after --source --exclude-source --workspace --cwd --title --model --branch --provider --user --chat-id --chat-type --end-reason --min-messages --max-messages --min-tokens --max-tokens --min-cost --max-cost --min-tool-calls --max-tool-calls; and return
        case show
            contains -- $argv[2] --last --message -C --context; and return
        case search
            contains -- $argv[2] -n --limit --per-conversation --sort --role -C --context --older-than --newer-than --before --after --source --exclude-source --workspace --cwd --title --model --branch --provider --user --chat-id --chat-type --end-reason --min-messages --max-messages --min-tokens --max-tokens --min-cost --max-cost --min-tool-calls --max-tool-calls; and return
        case resume
            contains -- $argv[2] --in; and return
        case stats
            contains -- $argv[2] --by -n --limit --older-than --newer-than --before --after --source --exclude-source --workspace --cwd --title --model --branch --provider --user --chat-id --chat-type --end-reason --min-messages --max-messages --min-tokens --max-tokens --min-cost --max-cost --min-tool-calls --max-tool-calls; and return
        case rename
            contains -- $argv[2] --timeout; and return
        case new
            contains -- $argv[2] --title --source --model --system-prompt --id --timeout; and return
        case fork
            contains -- $argv[2] --at --title --id --timeout; and return
        case close
            contains -- $argv[2] --reason --timeout --older-than --newer-than --before --after --source --exclude-source --workspace --cwd --title --model --branch --provider --user --chat-id --chat-type --end-reason --min-messages --max-messages --min-tokens --max-tokens --min-cost --max-cost --min-tool-calls --max-tool-calls; and return
        case pin
            contains -- $argv[2] --timeout; and return
        case unpin
            contains -- $argv[2] --timeout; and return
        case archive
            contains -- $argv[2] --timeout --older-than --newer-than --before --after --source --exclude-source --workspace --cwd --title --model --branch --provider --user --chat-id --chat-type --end-reason --min-messages --max-messages --min-tokens --max-tokens --min-cost --max-cost --min-tool-calls --max-tool-calls; and return
        case unarchive
            contains -- $argv[2] --timeout --older-than --newer-than --before --after --source --exclude-source --workspace --cwd --title --model --branch --provider --user --chat-id --chat-type --end-reason --min-messages --max-messages --min-tokens --max-tokens --min-cost --max-cost --min-tool-calls --max-tool-calls; and return
        case hide
            contains -- $argv[2] --timeout; and return
        case unhide
            contains -- $argv[2] --timeout; and return
        case relocate
            contains -- $argv[2] --timeout; and return
        case export
            contains -- $argv[2] -o --output --format --session-id --only --lineage --older-than --newer-than --before --after --source --exclude-source --workspace --cwd --title --model --branch --provider --user --chat-id --chat-type --end-reason --min-messages --max-messages --min-tokens --max-tokens --min-cost --max-cost --min-tool-calls --max-tool-calls; and return
        case import
            contains -- $argv[2] --from --timeout; and return
        case delete
            contains -- $argv[2] --timeout; and return
        case prune
            contains -- $argv[2] --max-delete --timeout --older-than --newer-than --before --after --source --exclude-source --workspace --cwd --title --model --branch --provider --user --chat-id --chat-type --end-reason --min-messages --max-messages --min-tokens --max-tokens --min-cost --max-cost --min-tool-calls --max-tool-calls; and return
        case undo
            contains -- $argv[2] --timeout; and return
        case optimize
            contains -- $argv[2] --into --timeout; and return
        case refresh-prompts
            contains -- $argv[2] --session --timeout --older-than --newer-than --before --after --source --exclude-source --workspace --cwd --title --model --branch --provider --user --chat-id --chat-type --end-reason --min-messages --max-messages --min-tokens --max-tokens --min-cost --max-cost --min-tool-calls --max-tool-calls; and return
        case repair-prompts
            contains -- $argv[2] --timeout; and return
    end
    return 1
end

# Print the command on the line, and how many arguments stand before the cursor.
function __hermes_sessions_read
    set -l words (commandline -opc)
    set -e words[1]
    set -l command ''
    set -l position 0
    set -l behind no
    while set -q words[1]
        set -l word $words[1]
        set -e words[1]
        if test $behind = yes; or not string match -q -- '-?*' $word
            set -l deeper (string trim -- "$command $word")
            if test $behind = no -a $position = 0; and contains -- $deeper list show search resume which workspaces stats doctor where rename new fork close pin unpin archive unarchive hide unhide relocate export import delete prune undo trash optimize refresh-prompts repair-prompts
                set command $deeper
            else
                set position (math $position + 1)
            end
        else if test $word = --
            set behind yes
            # what follows is for another program
            contains -- "$command" resume; and set position 1000
        else if test -z "$command"; and contains -- $word -c --continue -r --resume
            set command resume
        else if __hermes_sessions_takes "$command" $word
            set -e words[1]
        end
    end
    echo "$command"
    echo $position
end

# Tell whether the cursor is behind the command $argv[1], at its argument $argv[2] ("1-": or later).
function __hermes_sessions_in
    set -l line (__hermes_sessions_read)
    test "$line[1]" = "$argv[1]"; or return
    switch "$argv[2]"
        case ''
            return 0
        case '*-'
            test $line[2] -ge (string trim -r -c - -- $argv[2])
        case '*'
            test $line[2] -eq $argv[2]
    end
end

# Tell whether the cursor is behind one of these commands.
function __hermes_sessions_in_one_of
    contains -- (__hermes_sessions_read)[1] $argv
end

# Print what is typed of the value at the cursor, without quotes and without --option=.
function __hermes_sessions_current
    commandline -ct | string replace -r -- '^--[^=]*=' '' | string replace -r -- '^["\']' '' |
        string replace -ra -- '\\\\(.)' '$1'
end

function __hermes_sessions_directories
    __fish_complete_directories (__hermes_sessions_current) ''
end

# Print what hermes-sessions finds for a kind of value.
function __hermes_sessions_stored
    # an option is being typed: fish asks all the same
    string match -qr -- '^-[^=]*$' (commandline -ct); and return
    set -l words (commandline -opc)
    set -l program $words[1]
    type -q -- $program; or set program hermes-sessions
    type -q $program; or return
    set -e words[1]
    set -l current (__hermes_sessions_current)
    $program __complete $argv[1] "$current" -- $words 2>/dev/null
end

complete -c hermes-sessions -f

# Options that may stand anywhere.
complete -c hermes-sessions -s p -l profile -x -k -a '(__hermes_sessions_stored profile)' -d 'Use this profile.'
complete -c hermes-sessions -l home -x -a '(__hermes_sessions_directories)' -d 'Use this Hermes home; beats HERMES_HOME.'
complete -c hermes-sessions -l db -r -F -d 'Use one store file outside any home.'
complete -c hermes-sessions -l demo -d 'Use the sample home that comes with the program.'
complete -c hermes-sessions -l color -x -a 'auto always never' -d 'Colours: auto, always or never.'
complete -c hermes-sessions -l quiet -d 'No notes; errors stay.'
complete -c hermes-sessions -l debug -d 'Tracebacks, timings and the SQL that ran, on stderr.'

# Filters.
complete -c hermes-sessions -n '__hermes_sessions_in_one_of list search stats close archive unarchive export prune refresh-prompts' -l older-than -x -d 'Last active longer ago: 30m 5h 2d 1w.'
complete -c hermes-sessions -n '__hermes_sessions_in_one_of list search stats close archive unarchive export prune refresh-prompts' -l newer-than -x -d 'Last active within this age.'
complete -c hermes-sessions -n '__hermes_sessions_in_one_of list search stats close archive unarchive export prune refresh-prompts' -l before -x -d 'Started before: a date, an age, today.'
complete -c hermes-sessions -n '__hermes_sessions_in_one_of list search stats close archive unarchive export prune refresh-prompts' -l after -x -d 'Started at this time or later.'
complete -c hermes-sessions -n '__hermes_sessions_in_one_of list search stats close archive unarchive export prune refresh-prompts' -l source -x -k -a '(__hermes_sessions_stored source)' -d 'On this surface (repeatable).'
complete -c hermes-sessions -n '__hermes_sessions_in_one_of list search stats close archive unarchive export prune refresh-prompts' -l exclude-source -x -k -a '(__hermes_sessions_stored source)' -d 'Not on it (repeatable).'
complete -c hermes-sessions -n '__hermes_sessions_in_one_of list search stats close archive unarchive export prune refresh-prompts' -l workspace -x -k -a '(__hermes_sessions_stored workspace)' -d 'Of this workspace: a path, . or text.'
complete -c hermes-sessions -n '__hermes_sessions_in_one_of list search stats close archive unarchive export prune refresh-prompts' -l cwd -x -a '(__hermes_sessions_directories)' -d 'Working directory at or below PATH.'
complete -c hermes-sessions -n '__hermes_sessions_in_one_of list search stats close archive unarchive export prune refresh-prompts' -l title -x -k -a '(__hermes_sessions_stored title)' -d 'Title contains TEXT.'
complete -c hermes-sessions -n '__hermes_sessions_in_one_of list search stats close archive unarchive export prune refresh-prompts' -l model -x -k -a '(__hermes_sessions_stored model)' -d 'Model contains TEXT.'
complete -c hermes-sessions -n '__hermes_sessions_in_one_of list search stats close archive unarchive export prune refresh-prompts' -l branch -x -k -a '(__hermes_sessions_stored branch)' -d 'Git branch contains TEXT.'
complete -c hermes-sessions -n '__hermes_sessions_in_one_of list search stats close archive unarchive export prune refresh-prompts' -l provider -x -k -a '(__hermes_sessions_stored provider)' -d 'Billed by this provider.'
complete -c hermes-sessions -n '__hermes_sessions_in_one_of list search stats close archive unarchive export prune refresh-prompts' -l user -x -k -a '(__hermes_sessions_stored user)' -d 'Of this user of a chat platform.'
complete -c hermes-sessions -n '__hermes_sessions_in_one_of list search stats close archive unarchive export prune refresh-prompts' -l chat-id -x -k -a '(__hermes_sessions_stored chat)' -d 'In this chat.'
complete -c hermes-sessions -n '__hermes_sessions_in_one_of list search stats close archive unarchive export prune refresh-prompts' -l chat-type -x -k -a '(__hermes_sessions_stored chat_type)' -d 'In this type of chat.'
complete -c hermes-sessions -n '__hermes_sessions_in_one_of list search stats close archive unarchive export prune refresh-prompts' -l end-reason -x -k -a '(__hermes_sessions_stored reason)' -d 'Ended for this reason.'
complete -c hermes-sessions -n '__hermes_sessions_in_one_of list search stats close archive unarchive export prune refresh-prompts' -l min-messages -x -d 'At least N messages.'
complete -c hermes-sessions -n '__hermes_sessions_in_one_of list search stats close archive unarchive export prune refresh-prompts' -l max-messages -x -d 'At most N messages.'
complete -c hermes-sessions -n '__hermes_sessions_in_one_of list search stats close archive unarchive export prune refresh-prompts' -l min-tokens -x -d 'At least N tokens, in and out.'
complete -c hermes-sessions -n '__hermes_sessions_in_one_of list search stats close archive unarchive export prune refresh-prompts' -l max-tokens -x -d 'At most N tokens.'
complete -c hermes-sessions -n '__hermes_sessions_in_one_of list search stats close archive unarchive export prune refresh-prompts' -l min-cost -x -d 'Cost at least this much.'
complete -c hermes-sessions -n '__hermes_sessions_in_one_of list search stats close archive unarchive export prune refresh-prompts' -l max-cost -x -d 'Cost at most this.'
complete -c hermes-sessions -n '__hermes_sessions_in_one_of list search stats close archive unarchive export prune refresh-prompts' -l min-tool-calls -x -d 'At least N tool calls.'
complete -c hermes-sessions -n '__hermes_sessions_in_one_of list search stats close archive unarchive export prune refresh-prompts' -l max-tool-calls -x -d 'At most N tool calls.'
complete -c hermes-sessions -n '__hermes_sessions_in_one_of list search stats close archive unarchive export prune refresh-prompts' -l pinned -d 'Pinned, or not.'
complete -c hermes-sessions -n '__hermes_sessions_in_one_of list search stats close archive unarchive export prune refresh-prompts' -l not-pinned -d 'Pinned, or not.'
complete -c hermes-sessions -n '__hermes_sessions_in_one_of list search stats close archive unarchive export prune refresh-prompts' -l archived -d 'Only archived ones.'
complete -c hermes-sessions -n '__hermes_sessions_in_one_of list search stats close archive unarchive export prune refresh-prompts' -l all -d 'Archived, hidden, delegates and tool runs too.'

# hermes-sessions
complete -c hermes-sessions -n '__hermes_sessions_in \'\' 0' -a list -d 'List conversations by last activity.'
complete -c hermes-sessions -n '__hermes_sessions_in \'\' 0' -a show -d 'Show one conversation: facts, recap or the whole text.'
complete -c hermes-sessions -n '__hermes_sessions_in \'\' 0' -a search -d 'Search the text of all conversations.'
complete -c hermes-sessions -n '__hermes_sessions_in \'\' 0' -a resume -d 'Continue a conversation in Hermes.'
complete -c hermes-sessions -n '__hermes_sessions_in \'\' 0' -a which -d 'Print the id of the conversation a REF means.'
complete -c hermes-sessions -n '__hermes_sessions_in \'\' 0' -a workspaces -d 'List workspaces and what is in them.'
complete -c hermes-sessions -n '__hermes_sessions_in \'\' 0' -a stats -d 'Count conversations, messages, tokens and costs.'
complete -c hermes-sessions -n '__hermes_sessions_in \'\' 0' -a doctor -d 'Tell whether the store is well, and what cures it.'
complete -c hermes-sessions -n '__hermes_sessions_in \'\' 0' -a where -d 'Print the paths in use.'
complete -c hermes-sessions -n '__hermes_sessions_in \'\' 0' -a rename -d 'Give a conversation a title.'
complete -c hermes-sessions -n '__hermes_sessions_in \'\' 0' -a new -d 'Begin an empty conversation to resume later.'
complete -c hermes-sessions -n '__hermes_sessions_in \'\' 0' -a fork -d 'Begin a branch with a copy of a conversation.'
complete -c hermes-sessions -n '__hermes_sessions_in \'\' 0' -a close -d 'End open conversations.'
complete -c hermes-sessions -n '__hermes_sessions_in \'\' 0' -a pin -d 'Keep conversations from every cleanup.'
complete -c hermes-sessions -n '__hermes_sessions_in \'\' 0' -a unpin -d 'Take pins back.'
complete -c hermes-sessions -n '__hermes_sessions_in \'\' 0' -a archive -d 'Take conversations out of view.'
complete -c hermes-sessions -n '__hermes_sessions_in \'\' 0' -a unarchive -d 'Bring archived conversations back.'
complete -c hermes-sessions -n '__hermes_sessions_in \'\' 0' -a hide -d 'Hide conversations from listings.'
complete -c hermes-sessions -n '__hermes_sessions_in \'\' 0' -a unhide -d 'Show hidden conversations again.'
complete -c hermes-sessions -n '__hermes_sessions_in \'\' 0' -a relocate -d 'Rewrite directories after a project moved.'
complete -c hermes-sessions -n '__hermes_sessions_in \'\' 0' -a export -d 'Export conversations to files.'
complete -c hermes-sessions -n '__hermes_sessions_in \'\' 0' -a import -d 'Import a backup or another agent\'s transcript.'
complete -c hermes-sessions -n '__hermes_sessions_in \'\' 0' -a delete -d 'Delete conversations.'
complete -c hermes-sessions -n '__hermes_sessions_in \'\' 0' -a prune -d 'Delete old conversations.'
complete -c hermes-sessions -n '__hermes_sessions_in \'\' 0' -a undo -d 'Bring back what was deleted.'
complete -c hermes-sessions -n '__hermes_sessions_in \'\' 0' -a trash -d 'List, show or empty the trash.'
complete -c hermes-sessions -n '__hermes_sessions_in \'\' 0' -a optimize -d 'Merge the search indexes and give free space back.'
complete -c hermes-sessions -n '__hermes_sessions_in \'\' 0' -a refresh-prompts -d 'Have system prompts rebuilt on the next turn.'
complete -c hermes-sessions -n '__hermes_sessions_in \'\' 0' -a repair-prompts -d 'Find and clear degraded system prompts.'
complete -c hermes-sessions -n '__hermes_sessions_in \'\'' -s c -l continue -d 'Same as resume: this terminal\'s conversation, or REF.'
complete -c hermes-sessions -n '__hermes_sessions_in \'\'' -s r -l resume -d 'Same as resume REF.'
complete -c hermes-sessions -n '__hermes_sessions_in \'\'' -s q -d 'No notes; errors stay.'
complete -c hermes-sessions -n '__hermes_sessions_in \'\'' -l version -d 'Print the version.'
complete -c hermes-sessions -n '__hermes_sessions_in \'\'' -s h -l help -d 'Show this message and exit.'

# list
complete -c hermes-sessions -n '__hermes_sessions_in list' -s n -l limit -x -d 'Lines at most; 0 for all.'
complete -c hermes-sessions -n '__hermes_sessions_in list' -l sort -x -a 'activity started messages cost title' -d 'activity, started, messages, cost, title.'
complete -c hermes-sessions -n '__hermes_sessions_in list' -l reverse -d 'The other way round.'
complete -c hermes-sessions -n '__hermes_sessions_in list' -l tree -d 'Branches and delegates under their parent.'
complete -c hermes-sessions -n '__hermes_sessions_in list' -l no-fold -d 'Every run of a cron job on a line of its own.'
complete -c hermes-sessions -n '__hermes_sessions_in list' -l json -k -a '(__hermes_sessions_stored field)' -d 'One JSON value; --json=id,title picks fields.'
complete -c hermes-sessions -n '__hermes_sessions_in list' -l ids -d 'Ids only, one a line.'
complete -c hermes-sessions -n '__hermes_sessions_in list' -s 0 -l null -d 'Ids only, each ended by NUL.'
complete -c hermes-sessions -n '__hermes_sessions_in list' -s h -l help -d 'Show this message and exit.'

# show
complete -c hermes-sessions -n '__hermes_sessions_in show 0' -k -a '(__hermes_sessions_stored ref)'
complete -c hermes-sessions -n '__hermes_sessions_in show' -s t -l transcript -d 'The whole history, through a pager.'
complete -c hermes-sessions -n '__hermes_sessions_in show' -l last -x -d 'The last N messages.'
complete -c hermes-sessions -n '__hermes_sessions_in show' -l message -x -d 'One message, whole.'
complete -c hermes-sessions -n '__hermes_sessions_in show' -s C -l context -x -d 'With --message: N messages around it.'
complete -c hermes-sessions -n '__hermes_sessions_in show' -s x -l extract -d 'The last (Nth from the end) code block.'
complete -c hermes-sessions -n '__hermes_sessions_in show' -l raw -d 'Answers without Markdown rendering.'
complete -c hermes-sessions -n '__hermes_sessions_in show' -l json -k -a '(__hermes_sessions_stored field)' -d 'One JSON value; --json=id,title picks fields.'
complete -c hermes-sessions -n '__hermes_sessions_in show' -s h -l help -d 'Show this message and exit.'

# search
complete -c hermes-sessions -n '__hermes_sessions_in search' -s n -l limit -x -d 'Conversations at most; 0 for all.'
complete -c hermes-sessions -n '__hermes_sessions_in search' -l per-conversation -x -d 'Hits of each; 0 for all.'
complete -c hermes-sessions -n '__hermes_sessions_in search' -l sort -x -a 'rank newest oldest' -d 'rank, newest or oldest.'
complete -c hermes-sessions -n '__hermes_sessions_in search' -l role -x -a 'user assistant tool reasoning all' -d 'user, assistant, tool, reasoning or all (repeatable).'
complete -c hermes-sessions -n '__hermes_sessions_in search' -s C -l context -x -d 'N messages around each hit.'
complete -c hermes-sessions -n '__hermes_sessions_in search' -l literal -d 'Take the query as it is, without operators.'
complete -c hermes-sessions -n '__hermes_sessions_in search' -l json -k -a '(__hermes_sessions_stored field)' -d 'One JSON value; --json=id,title picks fields.'
complete -c hermes-sessions -n '__hermes_sessions_in search' -l ids -d 'Ids only, one a line.'
complete -c hermes-sessions -n '__hermes_sessions_in search' -s 0 -l null -d 'Ids only, each ended by NUL.'
complete -c hermes-sessions -n '__hermes_sessions_in search' -s h -l help -d 'Show this message and exit.'

# resume
complete -c hermes-sessions -n '__hermes_sessions_in resume 0' -k -a '(__hermes_sessions_stored ref)'
complete -c hermes-sessions -n '__hermes_sessions_in resume' -l in -x -a '(__hermes_sessions_directories)' -d 'Start in DIR; without REF its newest conversation.'
complete -c hermes-sessions -n '__hermes_sessions_in resume' -l no-restore-cwd -d 'Stay in the current directory.'
complete -c hermes-sessions -n '__hermes_sessions_in resume' -l print -d 'Print the id and start nothing.'
complete -c hermes-sessions -n '__hermes_sessions_in resume' -l dry-run -d 'Print the command and why; start nothing.'
complete -c hermes-sessions -n '__hermes_sessions_in resume' -l recap -d 'Show what was said last.'
complete -c hermes-sessions -n '__hermes_sessions_in resume' -l no-recap -d 'Show what was said last.'
complete -c hermes-sessions -n '__hermes_sessions_in resume' -l force -d 'Even if it is live in another process.'
complete -c hermes-sessions -n '__hermes_sessions_in resume' -l create-if-missing -d 'If REF names none, begin one with this title, unasked.'
complete -c hermes-sessions -n '__hermes_sessions_in resume' -s h -l help -d 'Show this message and exit.'

# which
complete -c hermes-sessions -n '__hermes_sessions_in which 0' -k -a '(__hermes_sessions_stored ref)'
complete -c hermes-sessions -n '__hermes_sessions_in which' -l explain -d 'Say on stderr which rule chose it.'
complete -c hermes-sessions -n '__hermes_sessions_in which' -s h -l help -d 'Show this message and exit.'

# workspaces
complete -c hermes-sessions -n '__hermes_sessions_in workspaces' -l all -d 'Count archived ones, delegates and tool runs too.'
complete -c hermes-sessions -n '__hermes_sessions_in workspaces' -l json -k -a '(__hermes_sessions_stored field)' -d 'One JSON value; --json=id,title picks fields.'
complete -c hermes-sessions -n '__hermes_sessions_in workspaces' -s h -l help -d 'Show this message and exit.'

# stats
complete -c hermes-sessions -n '__hermes_sessions_in stats' -l by -x -a 'source model workspace day week month tool' -d 'A table by source, model, workspace, day, week, month or tool.'
complete -c hermes-sessions -n '__hermes_sessions_in stats' -l space -d 'Where the bytes of the store are, whatever the filter.'
complete -c hermes-sessions -n '__hermes_sessions_in stats' -s n -l limit -x -d 'Rows of a table; 0 for all.'
complete -c hermes-sessions -n '__hermes_sessions_in stats' -l json -k -a '(__hermes_sessions_stored field)' -d 'One JSON value; --json=id,title picks fields.'
complete -c hermes-sessions -n '__hermes_sessions_in stats' -s h -l help -d 'Show this message and exit.'

# doctor
complete -c hermes-sessions -n '__hermes_sessions_in doctor' -l full -d 'Look at everything, however long it takes.'
complete -c hermes-sessions -n '__hermes_sessions_in doctor' -l json -k -a '(__hermes_sessions_stored field)' -d 'One JSON value; --json=id,title picks fields.'
complete -c hermes-sessions -n '__hermes_sessions_in doctor' -s h -l help -d 'Show this message and exit.'

# where
complete -c hermes-sessions -n '__hermes_sessions_in where' -l json -k -a '(__hermes_sessions_stored field)' -d 'One JSON value; --json=id,title picks fields.'
complete -c hermes-sessions -n '__hermes_sessions_in where' -s h -l help -d 'Show this message and exit.'

# rename
complete -c hermes-sessions -n '__hermes_sessions_in rename 0' -k -a '(__hermes_sessions_stored ref)'
complete -c hermes-sessions -n '__hermes_sessions_in rename' -l dry-run -d 'Show what would be done; do nothing.'
complete -c hermes-sessions -n '__hermes_sessions_in rename' -s y -l yes -d 'Do not ask.'
complete -c hermes-sessions -n '__hermes_sessions_in rename' -l json -k -a '(__hermes_sessions_stored field)' -d 'One JSON value; --json=id,title picks fields.'
complete -c hermes-sessions -n '__hermes_sessions_in rename' -l timeout -x -d 'Wait so long for another writer (30).'
complete -c hermes-sessions -n '__hermes_sessions_in rename' -s h -l help -d 'Show this message and exit.'

# new
complete -c hermes-sessions -n '__hermes_sessions_in new' -l title -x -d 'Its title.'
complete -c hermes-sessions -n '__hermes_sessions_in new' -l source -x -k -a '(__hermes_sessions_stored source)' -d 'The surface it belongs to.'
complete -c hermes-sessions -n '__hermes_sessions_in new' -l model -x -k -a '(__hermes_sessions_stored model)' -d 'The model to begin with.'
complete -c hermes-sessions -n '__hermes_sessions_in new' -l system-prompt -x -d 'What it is told first.'
complete -c hermes-sessions -n '__hermes_sessions_in new' -l id -x -d 'Its id; else a new one.'
complete -c hermes-sessions -n '__hermes_sessions_in new' -l dry-run -d 'Show what would be done; do nothing.'
complete -c hermes-sessions -n '__hermes_sessions_in new' -s y -l yes -d 'Do not ask.'
complete -c hermes-sessions -n '__hermes_sessions_in new' -l json -k -a '(__hermes_sessions_stored field)' -d 'One JSON value; --json=id,title picks fields.'
complete -c hermes-sessions -n '__hermes_sessions_in new' -l timeout -x -d 'Wait so long for another writer (30).'
complete -c hermes-sessions -n '__hermes_sessions_in new' -s h -l help -d 'Show this message and exit.'

# fork
complete -c hermes-sessions -n '__hermes_sessions_in fork 0' -k -a '(__hermes_sessions_stored ref)'
complete -c hermes-sessions -n '__hermes_sessions_in fork' -l at -x -d 'Copy up to this message.'
complete -c hermes-sessions -n '__hermes_sessions_in fork' -l title -x -d 'Its title; else the next number.'
complete -c hermes-sessions -n '__hermes_sessions_in fork' -l id -x -d 'Its id; else a new one.'
complete -c hermes-sessions -n '__hermes_sessions_in fork' -l full -d 'Copy what compaction archived, too.'
complete -c hermes-sessions -n '__hermes_sessions_in fork' -l keep-open -d 'Leave the source open.'
complete -c hermes-sessions -n '__hermes_sessions_in fork' -l dry-run -d 'Show what would be done; do nothing.'
complete -c hermes-sessions -n '__hermes_sessions_in fork' -s y -l yes -d 'Do not ask.'
complete -c hermes-sessions -n '__hermes_sessions_in fork' -l json -k -a '(__hermes_sessions_stored field)' -d 'One JSON value; --json=id,title picks fields.'
complete -c hermes-sessions -n '__hermes_sessions_in fork' -l timeout -x -d 'Wait so long for another writer (30).'
complete -c hermes-sessions -n '__hermes_sessions_in fork' -s h -l help -d 'Show this message and exit.'

# close
complete -c hermes-sessions -n '__hermes_sessions_in close 0-' -k -a '(__hermes_sessions_stored ref)'
complete -c hermes-sessions -n '__hermes_sessions_in close' -l reason -x -k -a '(__hermes_sessions_stored reason)' -d 'Why, as Hermes records it.'
complete -c hermes-sessions -n '__hermes_sessions_in close' -l dry-run -d 'Show what would be done; do nothing.'
complete -c hermes-sessions -n '__hermes_sessions_in close' -s y -l yes -d 'Do not ask.'
complete -c hermes-sessions -n '__hermes_sessions_in close' -l json -k -a '(__hermes_sessions_stored field)' -d 'One JSON value; --json=id,title picks fields.'
complete -c hermes-sessions -n '__hermes_sessions_in close' -l timeout -x -d 'Wait so long for another writer (30).'
complete -c hermes-sessions -n '__hermes_sessions_in close' -s h -l help -d 'Show this message and exit.'

# pin
complete -c hermes-sessions -n '__hermes_sessions_in pin 0-' -k -a '(__hermes_sessions_stored ref)'
complete -c hermes-sessions -n '__hermes_sessions_in pin' -l dry-run -d 'Show what would be done; do nothing.'
complete -c hermes-sessions -n '__hermes_sessions_in pin' -s y -l yes -d 'Do not ask.'
complete -c hermes-sessions -n '__hermes_sessions_in pin' -l json -k -a '(__hermes_sessions_stored field)' -d 'One JSON value; --json=id,title picks fields.'
complete -c hermes-sessions -n '__hermes_sessions_in pin' -l timeout -x -d 'Wait so long for another writer (30).'
complete -c hermes-sessions -n '__hermes_sessions_in pin' -s h -l help -d 'Show this message and exit.'

# unpin
complete -c hermes-sessions -n '__hermes_sessions_in unpin 0-' -k -a '(__hermes_sessions_stored ref)'
complete -c hermes-sessions -n '__hermes_sessions_in unpin' -l dry-run -d 'Show what would be done; do nothing.'
complete -c hermes-sessions -n '__hermes_sessions_in unpin' -s y -l yes -d 'Do not ask.'
complete -c hermes-sessions -n '__hermes_sessions_in unpin' -l json -k -a '(__hermes_sessions_stored field)' -d 'One JSON value; --json=id,title picks fields.'
complete -c hermes-sessions -n '__hermes_sessions_in unpin' -l timeout -x -d 'Wait so long for another writer (30).'
complete -c hermes-sessions -n '__hermes_sessions_in unpin' -s h -l help -d 'Show this message and exit.'

# archive
complete -c hermes-sessions -n '__hermes_sessions_in archive 0-' -k -a '(__hermes_sessions_stored ref)'
complete -c hermes-sessions -n '__hermes_sessions_in archive' -l dry-run -d 'Show what would be done; do nothing.'
complete -c hermes-sessions -n '__hermes_sessions_in archive' -s y -l yes -d 'Do not ask.'
complete -c hermes-sessions -n '__hermes_sessions_in archive' -l json -k -a '(__hermes_sessions_stored field)' -d 'One JSON value; --json=id,title picks fields.'
complete -c hermes-sessions -n '__hermes_sessions_in archive' -l timeout -x -d 'Wait so long for another writer (30).'
complete -c hermes-sessions -n '__hermes_sessions_in archive' -s h -l help -d 'Show this message and exit.'

# unarchive
complete -c hermes-sessions -n '__hermes_sessions_in unarchive 0-' -k -a '(__hermes_sessions_stored ref)'
complete -c hermes-sessions -n '__hermes_sessions_in unarchive' -l dry-run -d 'Show what would be done; do nothing.'
complete -c hermes-sessions -n '__hermes_sessions_in unarchive' -s y -l yes -d 'Do not ask.'
complete -c hermes-sessions -n '__hermes_sessions_in unarchive' -l json -k -a '(__hermes_sessions_stored field)' -d 'One JSON value; --json=id,title picks fields.'
complete -c hermes-sessions -n '__hermes_sessions_in unarchive' -l timeout -x -d 'Wait so long for another writer (30).'
complete -c hermes-sessions -n '__hermes_sessions_in unarchive' -s h -l help -d 'Show this message and exit.'

# hide
complete -c hermes-sessions -n '__hermes_sessions_in hide 0-' -k -a '(__hermes_sessions_stored ref)'
complete -c hermes-sessions -n '__hermes_sessions_in hide' -l dry-run -d 'Show what would be done; do nothing.'
complete -c hermes-sessions -n '__hermes_sessions_in hide' -s y -l yes -d 'Do not ask.'
complete -c hermes-sessions -n '__hermes_sessions_in hide' -l json -k -a '(__hermes_sessions_stored field)' -d 'One JSON value; --json=id,title picks fields.'
complete -c hermes-sessions -n '__hermes_sessions_in hide' -l timeout -x -d 'Wait so long for another writer (30).'
complete -c hermes-sessions -n '__hermes_sessions_in hide' -s h -l help -d 'Show this message and exit.'

# unhide
complete -c hermes-sessions -n '__hermes_sessions_in unhide 0-' -k -a '(__hermes_sessions_stored ref)'
complete -c hermes-sessions -n '__hermes_sessions_in unhide' -l dry-run -d 'Show what would be done; do nothing.'
complete -c hermes-sessions -n '__hermes_sessions_in unhide' -s y -l yes -d 'Do not ask.'
complete -c hermes-sessions -n '__hermes_sessions_in unhide' -l json -k -a '(__hermes_sessions_stored field)' -d 'One JSON value; --json=id,title picks fields.'
complete -c hermes-sessions -n '__hermes_sessions_in unhide' -l timeout -x -d 'Wait so long for another writer (30).'
complete -c hermes-sessions -n '__hermes_sessions_in unhide' -s h -l help -d 'Show this message and exit.'

# relocate
complete -c hermes-sessions -n '__hermes_sessions_in relocate 0' -k -a '(__hermes_sessions_stored workspace)'
complete -c hermes-sessions -n '__hermes_sessions_in relocate 1' -a '(__hermes_sessions_directories)'
complete -c hermes-sessions -n '__hermes_sessions_in relocate' -l dry-run -d 'Show what would be done; do nothing.'
complete -c hermes-sessions -n '__hermes_sessions_in relocate' -s y -l yes -d 'Do not ask.'
complete -c hermes-sessions -n '__hermes_sessions_in relocate' -l json -k -a '(__hermes_sessions_stored field)' -d 'One JSON value; --json=id,title picks fields.'
complete -c hermes-sessions -n '__hermes_sessions_in relocate' -l timeout -x -d 'Wait so long for another writer (30).'
complete -c hermes-sessions -n '__hermes_sessions_in relocate' -s h -l help -d 'Show this message and exit.'

# export
complete -c hermes-sessions -n '__hermes_sessions_in export 0' -F
complete -c hermes-sessions -n '__hermes_sessions_in export' -s o -l output -r -F -d 'The same as OUTPUT.'
complete -c hermes-sessions -n '__hermes_sessions_in export' -l format -x -a 'jsonl md qmd html trace' -d 'jsonl, md, qmd, html or trace.'
complete -c hermes-sessions -n '__hermes_sessions_in export' -l session-id -x -k -a '(__hermes_sessions_stored ref)' -d 'Only this conversation.'
complete -c hermes-sessions -n '__hermes_sessions_in export' -l only -x -a user-prompts -d 'user-prompts, as JSON Lines.'
complete -c hermes-sessions -n '__hermes_sessions_in export' -l lineage -x -a 'single logical' -d 'logical: all segments; single: one.'
complete -c hermes-sessions -n '__hermes_sessions_in export' -l redact -d 'Take secrets out.'
complete -c hermes-sessions -n '__hermes_sessions_in export' -l no-redact -d 'Take secrets out.'
complete -c hermes-sessions -n '__hermes_sessions_in export' -l delete-after-verified -d 'Then delete it, if the files are whole.'
complete -c hermes-sessions -n '__hermes_sessions_in export' -l force -d 'Replace files that are there.'
complete -c hermes-sessions -n '__hermes_sessions_in export' -l dry-run -d 'Show what would be done; do nothing.'
complete -c hermes-sessions -n '__hermes_sessions_in export' -s y -l yes -d 'Do not ask.'
complete -c hermes-sessions -n '__hermes_sessions_in export' -s h -l help -d 'Show this message and exit.'

# import
complete -c hermes-sessions -n '__hermes_sessions_in import 0' -F
complete -c hermes-sessions -n '__hermes_sessions_in import' -l from -x -a 'hermes claude codex' -d 'hermes, claude or codex.'
complete -c hermes-sessions -n '__hermes_sessions_in import' -l dry-run -d 'Show what would be done; do nothing.'
complete -c hermes-sessions -n '__hermes_sessions_in import' -s y -l yes -d 'Do not ask.'
complete -c hermes-sessions -n '__hermes_sessions_in import' -l json -k -a '(__hermes_sessions_stored field)' -d 'One JSON value; --json=id,title picks fields.'
complete -c hermes-sessions -n '__hermes_sessions_in import' -l timeout -x -d 'Wait so long for another writer (30).'
complete -c hermes-sessions -n '__hermes_sessions_in import' -s h -l help -d 'Show this message and exit.'

# delete
complete -c hermes-sessions -n '__hermes_sessions_in delete 0-' -k -a '(__hermes_sessions_stored ref)'
complete -c hermes-sessions -n '__hermes_sessions_in delete' -l dry-run -d 'Show what would be done; do nothing.'
complete -c hermes-sessions -n '__hermes_sessions_in delete' -s y -l yes -d 'Do not ask.'
complete -c hermes-sessions -n '__hermes_sessions_in delete' -l no-trash -d 'Delete for good: there is no undo.'
complete -c hermes-sessions -n '__hermes_sessions_in delete' -l json -k -a '(__hermes_sessions_stored field)' -d 'One JSON value; --json=id,title picks fields.'
complete -c hermes-sessions -n '__hermes_sessions_in delete' -l timeout -x -d 'Wait so long for another writer (30).'
complete -c hermes-sessions -n '__hermes_sessions_in delete' -s h -l help -d 'Show this message and exit.'

# prune
complete -c hermes-sessions -n '__hermes_sessions_in prune' -l include-archived -d 'Archived ones may go, too.'
complete -c hermes-sessions -n '__hermes_sessions_in prune' -l include-pinned -d 'Pinned ones may go, too.'
complete -c hermes-sessions -n '__hermes_sessions_in prune' -l never-active -d 'What a gateway opened and nobody used.'
complete -c hermes-sessions -n '__hermes_sessions_in prune' -l orphans -d 'Messages and usage whose session is gone.'
complete -c hermes-sessions -n '__hermes_sessions_in prune' -l max-delete -x -d 'Refuse to delete more than N.'
complete -c hermes-sessions -n '__hermes_sessions_in prune' -l force -d 'Although other processes have the store open.'
complete -c hermes-sessions -n '__hermes_sessions_in prune' -l no-trash -d 'Delete for good: there is no undo.'
complete -c hermes-sessions -n '__hermes_sessions_in prune' -l dry-run -d 'Show what would be done; do nothing.'
complete -c hermes-sessions -n '__hermes_sessions_in prune' -s y -l yes -d 'Do not ask.'
complete -c hermes-sessions -n '__hermes_sessions_in prune' -l json -k -a '(__hermes_sessions_stored field)' -d 'One JSON value; --json=id,title picks fields.'
complete -c hermes-sessions -n '__hermes_sessions_in prune' -l timeout -x -d 'Wait so long for another writer (30).'
complete -c hermes-sessions -n '__hermes_sessions_in prune' -s h -l help -d 'Show this message and exit.'

# undo
complete -c hermes-sessions -n '__hermes_sessions_in undo' -l dry-run -d 'Show what would be done; do nothing.'
complete -c hermes-sessions -n '__hermes_sessions_in undo' -s y -l yes -d 'Do not ask.'
complete -c hermes-sessions -n '__hermes_sessions_in undo' -l json -k -a '(__hermes_sessions_stored field)' -d 'One JSON value; --json=id,title picks fields.'
complete -c hermes-sessions -n '__hermes_sessions_in undo' -l timeout -x -d 'Wait so long for another writer (30).'
complete -c hermes-sessions -n '__hermes_sessions_in undo' -s h -l help -d 'Show this message and exit.'

# trash
complete -c hermes-sessions -n '__hermes_sessions_in trash 0' -a 'list show empty'
complete -c hermes-sessions -n '__hermes_sessions_in trash' -l dry-run -d 'Show what would be done; do nothing.'
complete -c hermes-sessions -n '__hermes_sessions_in trash' -s y -l yes -d 'Do not ask.'
complete -c hermes-sessions -n '__hermes_sessions_in trash' -l json -k -a '(__hermes_sessions_stored field)' -d 'One JSON value; --json=id,title picks fields.'
complete -c hermes-sessions -n '__hermes_sessions_in trash' -s h -l help -d 'Show this message and exit.'

# optimize
complete -c hermes-sessions -n '__hermes_sessions_in optimize' -l if-needed -d 'For cron: only if it is worth it.'
complete -c hermes-sessions -n '__hermes_sessions_in optimize' -l fts-only -d 'Only the search indexes; fine beside Hermes.'
complete -c hermes-sessions -n '__hermes_sessions_in optimize' -l into -r -F -d 'Write a compact copy; leave the store alone.'
complete -c hermes-sessions -n '__hermes_sessions_in optimize' -l force -d 'Beside other processes, whatever the gain; overwrite FILE.'
complete -c hermes-sessions -n '__hermes_sessions_in optimize' -l dry-run -d 'Show what would be done; do nothing.'
complete -c hermes-sessions -n '__hermes_sessions_in optimize' -s y -l yes -d 'Do not ask.'
complete -c hermes-sessions -n '__hermes_sessions_in optimize' -l json -k -a '(__hermes_sessions_stored field)' -d 'One JSON value; --json=id,title picks fields.'
complete -c hermes-sessions -n '__hermes_sessions_in optimize' -l timeout -x -d 'Wait so long for another writer (30).'
complete -c hermes-sessions -n '__hermes_sessions_in optimize' -s h -l help -d 'Show this message and exit.'

# refresh-prompts
complete -c hermes-sessions -n '__hermes_sessions_in refresh-prompts' -l session -x -k -a '(__hermes_sessions_stored ref)' -d 'Only this conversation.'
complete -c hermes-sessions -n '__hermes_sessions_in refresh-prompts' -l dry-run -d 'Show what would be done; do nothing.'
complete -c hermes-sessions -n '__hermes_sessions_in refresh-prompts' -s y -l yes -d 'Do not ask.'
complete -c hermes-sessions -n '__hermes_sessions_in refresh-prompts' -l json -k -a '(__hermes_sessions_stored field)' -d 'One JSON value; --json=id,title picks fields.'
complete -c hermes-sessions -n '__hermes_sessions_in refresh-prompts' -l timeout -x -d 'Wait so long for another writer (30).'
complete -c hermes-sessions -n '__hermes_sessions_in refresh-prompts' -s h -l help -d 'Show this message and exit.'

# repair-prompts
complete -c hermes-sessions -n '__hermes_sessions_in repair-prompts 0' -k -a '(__hermes_sessions_stored ref)'
complete -c hermes-sessions -n '__hermes_sessions_in repair-prompts' -l apply -d 'Clear what was found.'
complete -c hermes-sessions -n '__hermes_sessions_in repair-prompts' -l dry-run -d 'Show what would be done; do nothing.'
complete -c hermes-sessions -n '__hermes_sessions_in repair-prompts' -s y -l yes -d 'Do not ask.'
complete -c hermes-sessions -n '__hermes_sessions_in repair-prompts' -l json -k -a '(__hermes_sessions_stored field)' -d 'One JSON value; --json=id,title picks fields.'
complete -c hermes-sessions -n '__hermes_sessions_in repair-prompts' -l timeout -x -d 'Wait so long for another writer (30).'
complete -c hermes-sessions -n '__hermes_sessions_in repair-prompts' -s h -l help -d 'Show this message and exit.'
