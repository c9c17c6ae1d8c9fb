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
            if test $behind = no -a $position = 0; and contains -- $deeper list show search resume which workspaces where
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
complete -c hermes-sessions -n '__hermes_sessions_in_one_of list search' -l older-than -x -d 'Last active longer ago: 30m 5h 2d 1w.'
complete -c hermes-sessions -n '__hermes_sessions_in_one_of list search' -l newer-than -x -d 'Last active within this age.'
complete -c hermes-sessions -n '__hermes_sessions_in_one_of list search' -l before -x -d 'Started before: a date, an age, today.'
complete -c hermes-sessions -n '__hermes_sessions_in_one_of list search' -l after -x -d 'Started at this time or later.'
complete -c hermes-sessions -n '__hermes_sessions_in_one_of list search' -l source -x -k -a '(__hermes_sessions_stored source)' -d 'On this surface (repeatable).'
complete -c hermes-sessions -n '__hermes_sessions_in_one_of list search' -l exclude-source -x -k -a '(__hermes_sessions_stored source)' -d 'Not on it (repeatable).'
complete -c hermes-sessions -n '__hermes_sessions_in_one_of list search' -l workspace -x -k -a '(__hermes_sessions_stored workspace)' -d 'Of this workspace: a path, . or text.'
complete -c hermes-sessions -n '__hermes_sessions_in_one_of list search' -l cwd -x -a '(__hermes_sessions_directories)' -d 'Working directory at or below PATH.'
complete -c hermes-sessions -n '__hermes_sessions_in_one_of list search' -l title -x -k -a '(__hermes_sessions_stored title)' -d 'Title contains TEXT.'
complete -c hermes-sessions -n '__hermes_sessions_in_one_of list search' -l model -x -k -a '(__hermes_sessions_stored model)' -d 'Model contains TEXT.'
complete -c hermes-sessions -n '__hermes_sessions_in_one_of list search' -l branch -x -k -a '(__hermes_sessions_stored branch)' -d 'Git branch contains TEXT.'
complete -c hermes-sessions -n '__hermes_sessions_in_one_of list search' -l provider -x -k -a '(__hermes_sessions_stored provider)' -d 'Billed by this provider.'
complete -c hermes-sessions -n '__hermes_sessions_in_one_of list search' -l user -x -k -a '(__hermes_sessions_stored user)' -d 'Of this user of a chat platform.'
complete -c hermes-sessions -n '__hermes_sessions_in_one_of list search' -l chat-id -x -k -a '(__hermes_sessions_stored chat)' -d 'In this chat.'
complete -c hermes-sessions -n '__hermes_sessions_in_one_of list search' -l chat-type -x -k -a '(__hermes_sessions_stored chat_type)' -d 'In this type of chat.'
complete -c hermes-sessions -n '__hermes_sessions_in_one_of list search' -l end-reason -x -k -a '(__hermes_sessions_stored reason)' -d 'Ended for this reason.'
complete -c hermes-sessions -n '__hermes_sessions_in_one_of list search' -l min-messages -x -d 'At least N messages.'
complete -c hermes-sessions -n '__hermes_sessions_in_one_of list search' -l max-messages -x -d 'At most N messages.'
complete -c hermes-sessions -n '__hermes_sessions_in_one_of list search' -l min-tokens -x -d 'At least N tokens, in and out.'
complete -c hermes-sessions -n '__hermes_sessions_in_one_of list search' -l max-tokens -x -d 'At most N tokens.'
complete -c hermes-sessions -n '__hermes_sessions_in_one_of list search' -l min-cost -x -d 'Cost at least this much.'
complete -c hermes-sessions -n '__hermes_sessions_in_one_of list search' -l max-cost -x -d 'Cost at most this.'
complete -c hermes-sessions -n '__hermes_sessions_in_one_of list search' -l min-tool-calls -x -d 'At least N tool calls.'
complete -c hermes-sessions -n '__hermes_sessions_in_one_of list search' -l max-tool-calls -x -d 'At most N tool calls.'
complete -c hermes-sessions -n '__hermes_sessions_in_one_of list search' -l pinned -d 'Pinned, or not.'
complete -c hermes-sessions -n '__hermes_sessions_in_one_of list search' -l not-pinned -d 'Pinned, or not.'
complete -c hermes-sessions -n '__hermes_sessions_in_one_of list search' -l archived -d 'Only archived ones.'
complete -c hermes-sessions -n '__hermes_sessions_in_one_of list search' -l all -d 'Archived, hidden, delegates and tool runs too.'

# hermes-sessions
complete -c hermes-sessions -n '__hermes_sessions_in \'\' 0' -a list -d 'List conversations by last activity.'
complete -c hermes-sessions -n '__hermes_sessions_in \'\' 0' -a show -d 'Show one conversation: facts, recap or the whole text.'
complete -c hermes-sessions -n '__hermes_sessions_in \'\' 0' -a search -d 'Search the text of all conversations.'
complete -c hermes-sessions -n '__hermes_sessions_in \'\' 0' -a resume -d 'Continue a conversation in Hermes.'
complete -c hermes-sessions -n '__hermes_sessions_in \'\' 0' -a which -d 'Print the id of the conversation a REF means.'
complete -c hermes-sessions -n '__hermes_sessions_in \'\' 0' -a workspaces -d 'List workspaces and what is in them.'
complete -c hermes-sessions -n '__hermes_sessions_in \'\' 0' -a where -d 'Print the paths in use.'
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
complete -c hermes-sessions -n '__hermes_sessions_in resume' -s h -l help -d 'Show this message and exit.'

# which
complete -c hermes-sessions -n '__hermes_sessions_in which 0' -k -a '(__hermes_sessions_stored ref)'
complete -c hermes-sessions -n '__hermes_sessions_in which' -l explain -d 'Say on stderr which rule chose it.'
complete -c hermes-sessions -n '__hermes_sessions_in which' -s h -l help -d 'Show this message and exit.'

# workspaces
complete -c hermes-sessions -n '__hermes_sessions_in workspaces' -l all -d 'Count archived ones, delegates and tool runs too.'
complete -c hermes-sessions -n '__hermes_sessions_in workspaces' -l json -k -a '(__hermes_sessions_stored field)' -d 'One JSON value; --json=id,title picks fields.'
complete -c hermes-sessions -n '__hermes_sessions_in workspaces' -s h -l help -d 'Show this message and exit.'

# where
complete -c hermes-sessions -n '__hermes_sessions_in where' -l json -k -a '(__hermes_sessions_stored field)' -d 'One JSON value; --json=id,title picks fields.'
complete -c hermes-sessions -n '__hermes_sessions_in where' -s h -l help -d 'Show this message and exit.'
