"""The table of verbs, for ``zot VERB --help``, parser, completions, reference and man page.

``kind`` says what a word can be, for completions. The modules of verbs are in ``main.VERBS`` and
``ext.dispatch.VERBS``.
"""

from __future__ import annotations

TYPE_CHECKING = False  # importing `typing` for it would cost more than a page of help
if TYPE_CHECKING:
    from collections.abc import Mapping

# What a word can be, when it is not one of a few choices (a tuple of them).
FILE, DIR, SESSION, EXTENSION, TOPIC, MODEL, PROVIDER, THEME, TOOLS, TEXT = (
    *("file", "dir", "session", "extension", "topic"),
    *("model", "provider", "theme", "tools", "text"),
)
ACCOUNT = "account"
INSTALLED = "installed"  # a local model
WORKER = "worker"  # of a swarm
LANGUAGES = ("python", "typescript", "go", "bash", "node")
SHELLS = ("bash", "zsh", "fish")
FORMATS = ("zotsession", "md", "html")


class Switch:
    """``value`` is empty for one that takes none."""

    def __init__(
        self, names: str, about: str, value: str = "", kind: str | tuple[str, ...] = TEXT, required: bool = False
    ) -> None:
        self.names = tuple(names.split())
        self.about = about
        self.value = value
        self.kind = kind
        self.required = required

    @property
    def label(self) -> str:
        return ", ".join(self.names) + (f" {self.value}" if self.value else "")

    @property
    def usage(self) -> str:
        text = self.names[-1] + (f" {self.value}" if self.value else "")
        return text if self.required else f"[{text}]"


class Verb:
    """``path`` follows ``zot``; ``kinds`` says what each word can be, the last one of all that follow."""

    def __init__(
        self,
        path: str,
        words: str,
        about: str,
        switches: tuple[Switch, ...] = (),
        kinds: tuple[str | tuple[str, ...], ...] = (),
        more: str = "",
        aliases: tuple[str, ...] = (),
        for_authors: bool = False,
    ) -> None:
        self.path = path
        self.words = words
        self.about = about
        self.switches = switches
        self.kinds = kinds
        self.more = more
        self.aliases = aliases
        self.for_authors = for_authors

    @property
    def usage(self) -> str:
        words, switches = (self.words,), tuple(switch.usage for switch in self.switches)
        # A command that follows ``--`` takes all that comes after it.
        parts = (*switches, *words) if self.words.startswith("--") else (*words, *switches)
        return " ".join(filter(None, (f"zot {self.path}", *parts)))


_CWD = Switch("--cwd", "look at another directory's sessions", "DIR", DIR)
_SESSION = (
    "SESSION is a number from the list, the beginning of an id, or a path; without it, the newest session is used."
)
_ACCOUNT = Switch("--account", "a name of your own, to keep several (default: the one in use)", "NAME", ACCOUNT)
_PROVIDER = "PROVIDER is a name of `zot --list-models`, or of your models.json."
_WORKER = "WORKER is its id, the beginning of one, or its name."
_NAME = "NAME is the manifest's name or the directory's."

_HOW = (  # switches of `swarm start` that go for every worker of several
    Switch("--worktree", "each in a tree of its own, on a new branch; the default in a repository"),
    Switch("--shared", "in this directory, where they only read; the default elsewhere"),
    Switch("--write", "with --shared: they may change files, one at a time"),
    Switch("--include-dirty", "with --worktree: take along what is not committed yet"),
    Switch("--cwd", "work in this directory", "DIR", DIR),
    Switch("--provider", "provider to use", "ID", PROVIDER),
    Switch("--model", "which model", "ID", MODEL),
    Switch("--reasoning", "how hard to think", "LEVEL"),
    Switch("--script", "with --provider script: what the model says", "FILE", FILE),
    Switch("--api-key", "key for these workers; it is kept in memory only", "KEY"),
    Switch("--tools", "only these tools", "LIST", TOOLS),
    Switch("--no-ext", "do not load installed extensions"),
    Switch("--max-steps", "stop one after so many model calls", "N"),
    Switch("--timeout", "stop one after so much work: 90s, 15m, 2h (default: 60m)", "TIME"),
    Switch("--on", "where they run: local, ray or ray://HOST:PORT", "ENGINE"),
)

VERBS: tuple[Verb, ...] = (
    Verb(
        "rpc",
        "[FLAGS]",
        "let another program drive zot: commands on stdin, events on stdout, one JSON object per line",
        more="Without --continue or --session nothing is kept. `zot docs rpc` describes every command; there are "
        "clients for Python, TypeScript and Go.",
    ),
    Verb(
        "sessions",
        "[COMMAND]",
        "list, export, import, fork, rewind and prune sessions",
        more=f"{_SESSION}\n`zot sessions COMMAND --help` says more about one of them.",
    ),
    Verb(
        "sessions list",
        "",
        "the sessions of this directory, newest first; the default",
        (Switch("--all", "those of every directory"), _CWD),
        more="A line has the number, age, model, count of messages, cost, the beginning of the id and the title.",
    ),
    Verb("sessions path", "[SESSION]", "the session's file", (_CWD,), (SESSION,), _SESSION),
    Verb("sessions rename", "SESSION TITLE", "give it a title", (_CWD,), (SESSION, TEXT), _SESSION),
    Verb("sessions tree", "", "which session was forked from which", (_CWD,)),
    Verb(
        "sessions fork",
        "[SESSION]",
        "a new session with its first messages",
        (Switch("--at", "how many messages to keep (default: all of them)", "N"), _CWD),
        (SESSION,),
        _SESSION,
    ),
    Verb(
        "sessions rewind",
        "[SESSION]",
        "go back to before a prompt: the conversation, the files it changed, or both",
        (
            Switch("--to", "the number of the prompt; without it, they are listed with what they changed", "N"),
            Switch("--undo", "undo the last rewinding of files instead"),
            Switch("--files", "the files only"),
            Switch("--conversation", "the conversation only"),
            Switch("--overwrite", "files that something else changed since, too"),
            Switch("--dry-run", "only show what would be done"),
            Switch("--yes", "do not ask"),
            _CWD,
        ),
        (SESSION,),
        f"{_SESSION}\nThe conversation goes on in a new session, whose file is printed; the old one stays as it is. "
        "The exit status is 1 when a file could not go back. `zot docs rewind` says what is kept.",
    ),
    Verb(
        "sessions export",
        "[SESSION] [DEST]",
        "write a .zotsession file, or a page to read (default: into ~/Downloads)",
        (
            Switch("--format", "zotsession, md or html (default: by the ending of DEST)", "FORMAT", FORMATS),
            Switch("--redact", "replace credentials, addresses of people and paths"),
            Switch("--scrub", "replace paths of this machine"),
            _CWD,
        ),
        (SESSION, FILE),
        f"{_SESSION}\nA Markdown or HTML page has everything that was said, and each call with its result. An HTML "
        "page needs no other file, runs no script and loads nothing.",
    ),
    Verb("sessions import", "FILE", "bring a .zotsession file into this directory", (_CWD,), (FILE,)),
    Verb(
        "sessions prune",
        "",
        "delete sessions of directories that are gone, or by age and directory",
        (
            Switch("--older-than", "only those last used before: 30d, 6mo", "AGE"),
            Switch("--cwd", "only those of this directory", "DIR", DIR),
            Switch("--dry-run", "only show them"),
            Switch("--all", "choose all of them"),
            Switch("--yes", "do not ask; needs --all"),
        ),
        more="What would be deleted is listed first, and you choose and confirm.",
    ),
    Verb(
        "auth",
        "[COMMAND]",
        "log in to providers of models, and see what you are logged in with",
        more="Secrets are asked for without showing them, tried with the provider before they are stored, and never "
        "printed. `zot auth COMMAND --help` says more about one of them, `zot docs logging-in` about all.",
    ),
    Verb(
        "auth list",
        "",
        "every credential zot would find: provider, account, kind, where it is, when it ends; the default",
        (Switch("--json", "the same for a program"),),
        more="● is what a run would use. Nobody is asked: no provider, no keyring, no command.",
    ),
    Verb(
        "auth login",
        "PROVIDER",
        "store a key or a subscription's login",
        (
            Switch("--key-stdin", "read an API key from standard input"),
            Switch("--browser", "log in on a page in the browser"),
            Switch("--device", "log in with a code you type on another device"),
            _ACCOUNT,
            Switch("--timeout", "how long to wait for you (default: 600)", "SECONDS"),
        ),
        (PROVIDER,),
        "Without a switch: where models.json has a client id for the provider's OAuth, that login; else a key, which "
        "you paste here or on the page zot opens, whichever you like.\n"
        f"{_PROVIDER} A key is tried before it is stored. The account logged in to last is the one in use.\n"
        'A script: printf %s "$KEY" | zot auth login PROVIDER --key-stdin',
    ),
    Verb(
        "auth logout",
        "PROVIDER|all",
        "forget a stored credential",
        (_ACCOUNT,),
        (PROVIDER,),
        "Other accounts of the provider stay; `all` forgets everything that is stored.",
    ),
    Verb(
        "auth test",
        "PROVIDER",
        "ask the provider whether it takes the credential a run would use",
        kinds=(PROVIDER,),
        more="Exit code 0 when it does; else 1, with the provider's own words.",
    ),
    Verb("auth use", "PROVIDER ACCOUNT", "switch to another stored account", kinds=(PROVIDER, ACCOUNT)),
    Verb(
        "mcp",
        "[COMMAND]",
        "servers of the Model Context Protocol: add, try, trust and remove them",
        more="They are configured in mcp.json of your zot home and, for a project, in .mcp.json and .zot/mcp.json; "
        "`zot --mcp-config FILE` names more for a single run. `zot mcp COMMAND --help` says more about one of them, "
        "`zot docs mcp` about all.",
    ),
    Verb(
        "mcp list",
        "",
        "every server of yours and of this directory, and what would run; the default",
        (Switch("--json", "the same for a program"),),
    ),
    Verb(
        "mcp get",
        "NAME",
        "one server: its tools and prompts as last seen",
        (Switch("--json", "for a program"),),
        (TEXT,),
    ),
    Verb(
        "mcp add",
        "NAME URL|-- COMMAND",
        "add a server by its address, or by the command that starts it",
        (
            Switch("--env", "a variable for the command, NAME=VALUE; may be repeated", "PAIR"),
            Switch("--header", "a header for the address, NAME: VALUE; may be repeated", "PAIR"),
            Switch("--project", "in .mcp.json of this directory instead of your own file"),
            Switch("--force", "replace the server of that name"),
        ),
        (TEXT,),
        "${VAR} and ${VAR:-default} are replaced when the server starts: keep secrets in the environment.\n"
        "zot mcp add files -- npx -y @modelcontextprotocol/server-filesystem .",
    ),
    Verb("mcp remove", "NAME", "take a server out of the file it is in", kinds=(TEXT,)),
    Verb(
        "mcp import",
        "[claude|codex|vscode|cursor]",
        "copy the servers that other programs have configured into your own file",
        (Switch("--dry-run", "show what would be copied"), Switch("--force", "replace servers of the same name")),
        (TEXT,),
        "A project's .mcp.json needs no import: zot reads it.",
    ),
    Verb(
        "mcp login",
        "NAME",
        "log in to a server that wants to know who you are, in the browser",
        (Switch("--timeout", "how long to wait for you (default: 600)", "SECONDS"),),
        (TEXT,),
        "The login is kept with your other credentials and refreshed by itself. Where the server does not let zot "
        'register, put "oauth": {"client_id": "…"} into its entry.',
    ),
    Verb("mcp logout", "NAME", "forget a login", kinds=(TEXT,)),
    Verb(
        "mcp test",
        "NAME",
        "start a server, ask what it has, and stop it",
        kinds=(TEXT,),
        more="Exit code 0 when it answered.",
    ),
    Verb(
        "mcp trust",
        "[NAME…]",
        "let servers of this directory's files run, exactly as they are now; all of them without a name",
        kinds=(TEXT,),
    ),
    Verb("mcp untrust", "NAME…", "take that back", kinds=(TEXT,)),
    Verb(
        "swarm",
        "[COMMAND]",
        "agents in the background: start them, watch them, tell them more, stop and continue them",
        more=f"{_WORKER}\nThey go on when you close the terminal. In a repository each works in a tree of its own, on "
        "a branch of its own, and can change nothing else. `zot swarm COMMAND --help` says more about one of them.",
    ),
    Verb(
        "swarm start",
        "TASK",
        "start a worker; prints its id and returns",
        (
            Switch("--name", "what to call it (default: a few words of the task)", "NAME"),
            Switch("--worktree", "in a tree of its own, on a new branch; the default in a repository"),
            Switch("--shared", "in this directory, where it only reads; the default elsewhere"),
            Switch("--write", "with --shared: it may change files; one such worker at a time"),
            Switch("--include-dirty", "with --worktree: take along what is not committed yet"),
            Switch("--cwd", "work in this directory", "DIR", DIR),
            Switch("--provider", "provider to use", "ID", PROVIDER),
            Switch("--model", "which model", "ID", MODEL),
            Switch("--reasoning", "how hard to think", "LEVEL"),
            Switch("--script", "with --provider script: what the model says", "FILE", FILE),
            Switch("--api-key", "key for this worker; it is kept in memory only", "KEY"),
            Switch("--tools", "only these tools", "LIST", TOOLS),
            Switch("--no-ext", "do not load installed extensions"),
            Switch("--no-yolo", "ask before its tool calls; `zot swarm attach` answers"),
            Switch("--max-cost", "stop it before it spends more than this", "USD"),
            Switch("--max-steps", "stop it after so many model calls", "N"),
            Switch("--timeout", "stop it after so much work: 90s, 15m, 2h (default: 60m)", "TIME"),
            Switch("--restarts", "continue it by itself so often when its process was killed (default: 0)", "N"),
            Switch("--once", "it ends with this task instead of waiting for more"),
            Switch("--wait", "wait for it and print what it says; exit status 1 when it did not get that far"),
            Switch("--on", "where it runs: local, ray or ray://HOST:PORT", "ENGINE"),
            Switch("--resume", "continue this worker instead of starting one", "WORKER"),
            Switch("--json", "print what a program needs"),
        ),
        (TEXT,),
        "TASK is - to read it from standard input. At most `swarm_agents` workers (a setting, 4) are at work at the "
        "same time; the others wait.",
    ),
    Verb(
        "swarm list",
        "",
        "the workers that live: id, name, status, age, model, cost, mode and what they do; the default",
        (Switch("--all", "those that have ended, too"), Switch("--json", "the same for a program")),
        more="queued and running say what they seem; waiting: it asked something; idle: it is done and may be told "
        "more; lost: its process is gone, `zot swarm resume` continues it.",
    ),
    Verb(
        "swarm show",
        "WORKER",
        "one worker: what it does, what it changed and what it said last",
        (Switch("--json", "for a program"),),
        (WORKER,),
        _WORKER,
    ),
    Verb(
        "swarm logs",
        "WORKER",
        "what it said and did",
        (
            Switch("-f --follow", "go on as it happens, until it ends"),
            Switch("--json", "every event as a line of JSON"),
        ),
        (WORKER,),
        _WORKER,
    ),
    Verb(
        "swarm attach",
        "WORKER",
        "watch it at work; what you type is sent to it, ctrl+d leaves it at work",
        kinds=(WORKER,),
        more=f"{_WORKER}\nA worker that asks whether something may run is answered with y or n.",
    ),
    Verb(
        "swarm send",
        "WORKER TEXT",
        "tell it more; it takes that up when it is done with what it does",
        kinds=(WORKER, TEXT),
        more=f"{_WORKER}\nTEXT is - to read it from standard input.",
    ),
    Verb(
        "swarm wait",
        "WORKER…",
        "wait until it is done and print what it said last",
        (Switch("--timeout", "give up waiting after this: 90s, 15m, 2h", "TIME"), Switch("--json", "for a program")),
        (WORKER,),
        f"{_WORKER}\nThe exit status is 0 when it did what it was told, else 1.",
    ),
    Verb(
        "swarm stop",
        "[WORKER]",
        "end a worker and everything it started",
        (Switch("--all", "all of them"),),
        (WORKER,),
        f"{_WORKER}\nIts record, its tree and its branch stay.",
    ),
    Verb(
        "swarm resume",
        "WORKER",
        "continue one that runs no more, from where it was; its task is not said again",
        (
            Switch("--api-key", "key for this worker; it is kept in memory only", "KEY"),
            Switch("--wait", "wait for it and print what it says"),
            Switch("--json", "print what a program needs"),
        ),
        (WORKER,),
        _WORKER,
    ),
    Verb(
        "swarm diff",
        "WORKER",
        "what it changed in its tree since it began, committed or not",
        (Switch("--stat", "only how much"),),
        (WORKER,),
        _WORKER,
    ),
    Verb(
        "swarm merge",
        "[WORKER…]",
        "bring what it changed into your working tree, not committed",
        (
            Switch("--all", "of every worker of this repository that has ended and has not failed, one after another"),
            Switch("--squash", "change the files and commit nothing; the default"),
            Switch("--no-ff", "make a merge commit"),
            Switch("--patch", "write a patch file for `git apply` and change nothing"),
            Switch("--output", "with --patch: the file (default: NAME.patch)", "FILE", FILE),
            Switch("--into", "merge into this branch (default: the one that is checked out)", "BRANCH"),
            Switch("--check", "merge only if this command succeeds in a copy of the merged files", "COMMAND"),
            Switch("--check-timeout", "give the command so long: 90s, 15m, 2h (default: 30m)", "TIME"),
            Switch("--repair", "give a conflict back to the worker, which mends it in its own tree"),
            Switch("--json", "print what a program needs"),
        ),
        (WORKER,),
        f"{_WORKER}\nNothing of yours is touched before all of it is known to fit: a worker that changed a file you "
        "have uncommitted changes in is refused, and a conflict leaves everything as it was. With several workers each "
        "is merged onto the ones before it, or left out and told.\nThe exit status is 0 when all are merged, 3 for a "
        "conflict, else 1.",
    ),
    Verb(
        "swarm rm",
        "WORKER…",
        "delete its record, its tree and its branch",
        (Switch("--force", "also when it has changes that are not merged"),),
        (WORKER,),
        _WORKER,
    ),
    Verb(
        "swarm prune",
        "",
        "delete the workers that have ended and have nothing that is not merged",
        (
            Switch("--older", "only those that ended so long ago: 30m, 2h, 7d", "TIME"),
            Switch("--force", "also those with changes that are not merged"),
        ),
    ),
    Verb(
        "swarm map",
        "FILE [TASK]",
        "one worker for each line of a list; their answers become lines of JSON",
        (
            Switch("--max-agents", "so many at once (default: the setting `swarm_agents`)", "N"),
            Switch("--max-cost", "stop before all of them together spend more than this", "USD"),
            Switch("--max-cost-each", "stop one before it spends more than this", "USD"),
            Switch(
                "--schema",
                "a JSON Schema that every answer has to fit; one that does not is asked once more",
                "FILE",
                FILE,
            ),
            Switch("--output", "the results (default: NAME.results.jsonl for a list NAME.txt)", "FILE", FILE),
            Switch("--retries", "try an item that failed so often again (default: 1)", "N"),
            Switch("--resume", "go on: without what is done, with what failed and what is at work"),
            *_HOW,
        ),
        (FILE, TEXT),
        "FILE has an item on each line, or is - for standard input. {item} in TASK stands for one. A result is on disk "
        "as soon as its item is finished; ctrl+c, a spent budget and a restart of the machine lose nothing that "
        "--resume would not find.\nThe exit status is 0 when every item is done, else 1.",
    ),
    Verb(
        "swarm race",
        "N TASK",
        "N tries at one task; those whose check passes, the cheapest first",
        (
            Switch("--check", "a command that has to succeed in a copy of the files of a try", "COMMAND"),
            Switch("--check-timeout", "give the command so long: 90s, 15m, 2h (default: 30m)", "TIME"),
            Switch("--max-cost", "stop before all of them together spend more than this", "USD"),
            Switch("--max-cost-each", "stop one before it spends more than this", "USD"),
            Switch("--name", "what to call them: NAME-1 and so on", "NAME"),
            Switch("--json", "print what a program needs"),
            *(switch for switch in _HOW if switch.names[0] not in ("--worktree", "--shared", "--write")),
        ),
        (TEXT, TEXT),
        "Nothing is merged and nothing removed.\nThe exit status is 0 when one passed, else 1.",
    ),
    Verb(
        "hooks",
        "[COMMAND]",
        "hooks of Claude Code's settings files and of your own: what they would run, and trust",
        more="They are read from hooks.json of your zot home, from ~/.claude/settings.json, and from "
        ".claude/settings.json, .claude/settings.local.json and .zot/hooks.json of this directory. `zot docs hooks` "
        "says more.",
    ),
    Verb(
        "hooks list",
        "",
        "every hook by file, and whether it runs; the default",
        (Switch("--json", "the same for a program"),),
    ),
    Verb(
        "hooks trust",
        "[FILE…]",
        "let the hooks of these files run, exactly as they are now; of all files without a name",
        kinds=(TEXT,),
    ),
    Verb("hooks untrust", "[FILE…]", "take that back", kinds=(TEXT,)),
    Verb(
        "plugin",
        "[COMMAND]",
        "packages of skills, MCP servers, hooks and prompt templates: install, switch and remove them",
        more="Agent Plugins 1.0 (plugin.json) and plugins of Claude Code (.claude-plugin/plugin.json). "
        "`zot docs plugins` says more.",
    ),
    Verb(
        "plugin list",
        "",
        "what is installed, and what each part would run; the default",
        (Switch("--json", "the same for a program"),),
    ),
    Verb(
        "plugin install",
        "PATH|URL",
        "copy a directory, or clone a git repository, show what it would run, and install it after a yes",
        (
            Switch("--ref", "the branch, tag or commit to take", "REF"),
            Switch("--subdir", "the directory of the repository to take", "DIR"),
            Switch("--force", "replace what is installed under that name; its data stays"),
            Switch("--yes", "agree to what it would run"),
        ),
        (DIR,),
        "Nothing of it is run on the way. What it would run later is what you agreed to, or nothing.",
    ),
    Verb("plugin remove", "NAME…", "remove plugins; what they kept stays", kinds=(TEXT,)),
    Verb("plugin enable", "NAME…", "switch plugins on", kinds=(TEXT,)),
    Verb("plugin disable", "NAME…", "switch plugins off", kinds=(TEXT,)),
    Verb(
        "plugin doctor",
        "[NAME…]",
        "what keeps plugins from being used, and what zot has no place for",
        kinds=(TEXT,),
        more="Exit code 1 when one is not used.",
    ),
    Verb(
        "ext",
        "COMMAND",
        "install, switch, trust, write and check extensions",
        more=f"{_NAME} `zot --ext PATH` loads one for a single run.\n"
        "`zot ext COMMAND --help` says more about one of them.",
    ),
    Verb(
        "ext list",
        "",
        "what is installed, for this project and for you, and what of it is trusted",
        (Switch("--json", "as JSON, with where each came from and where its data is"),),
    ),
    Verb(
        "ext install",
        "PATH|URL",
        "copy a directory, or clone a git repository, into your extensions",
        (
            Switch("--ref", "the branch, tag or commit to take", "REF"),
            Switch("--subdir", "the directory of the repository to take", "DIR"),
            Switch("--force", "replace what is installed under that name; its data stays"),
        ),
        (DIR,),
        "URL@REF and URL#DIR say the same in one word: https://example.org/tools.git@v2#weather.\n"
        "All or nothing; nothing of what is installed is run, built or downloaded further. What git ignores and looks "
        "like your own data is left out.",
    ),
    Verb(
        "ext update",
        "[NAME…]",
        "fetch what you installed anew from where it came (default: all of it)",
        (
            Switch("--all", "everything you installed"),
            Switch("--force", "also replace what you changed here, and guards that guard no longer"),
            Switch("--dry-run", "only say what would change"),
        ),
        (EXTENSION,),
        f"{_NAME} A branch gives its newest commit, a tag or commit stays what it is. Its data stays, and so does "
        "whether it is enabled. When something fails, the old one is there as it was.",
    ),
    Verb(
        "ext remove",
        "NAME",
        "delete an installed extension; its log stays, and its data unless you say otherwise",
        (
            Switch("-y --yes", "do not ask; its data stays"),
            Switch("--keep-data", "do not ask about its data: keep it"),
            Switch("--delete-data", "do not ask about its data: delete it"),
        ),
        (EXTENSION,),
        _NAME,
        aliases=("rm",),
    ),
    Verb("ext enable", "NAME", "switch one on again", kinds=(EXTENSION,), more=_NAME),
    Verb("ext disable", "NAME", "switch one off without removing it", kinds=(EXTENSION,), more=_NAME),
    Verb(
        "ext logs",
        "NAME",
        "what it wrote to stderr, and what zot noticed about it",
        (Switch("-f --follow", "go on printing what is written"),),
        (EXTENSION,),
        _NAME,
    ),
    Verb(
        "ext trust",
        "[DIR|NAME]",
        "allow a project's extensions to run, as they are now (default: here)",
        (Switch("--unconfined", "with all your rights, whatever permissions they ask for"),),
        kinds=(DIR,),
        more="Nothing is started. Each one is named with what it would run and what it may do; a change of its files "
        "asks again. The NAME of one of your own accepts its files and permissions as they are now.",
    ),
    Verb("ext untrust", "[DIR]", "forbid a project's extensions to run (default: here)", kinds=(DIR,)),
    Verb(
        "ext doctor",
        "[PATH|NAME…]",
        "load everything and say why something is missing; changes nothing",
        kinds=(DIR,),
        more="A PATH is loaded as if given with --ext. With a PATH or NAME only what concerns it is told. What is not "
        "trusted is named and not started.",
    ),
    Verb(
        "ext new",
        "NAME",
        f"a working starter: {', '.join(LANGUAGES[:-1])} or {LANGUAGES[-1]}",
        (
            Switch("--lang", "the language", "LANG", LANGUAGES, required=True),
            Switch("--dir", "where to put it (default: ./NAME)", "DIR", DIR),
            Switch("--guard", "one that guards tool calls"),
        ),
        (TEXT,),
        "It needs nothing installed or downloaded: the SDK of its language is inside, and a test.",
        for_authors=True,
    ),
    Verb(
        "ext dev",
        "PATH [PROMPT…]",
        "start it, show frames and stderr, check it, and start again at every change",
        (
            Switch("--no-check", "do not check the rules after each start"),
            Switch("--once", "start it once and end; exit code 1 when something is wrong"),
        ),
        (DIR, TEXT),
        "Type /command args or tool {…} to try things, r to start again. Files that look like the extension's own data "
        "are not watched. With a PROMPT, `zot -p PROMPT` runs with it after each change, and its frames are shown; "
        "what follows -- goes to that zot: -- --model NAME.",
        for_authors=True,
    ),
    Verb(
        "ext check",
        "PATH",
        "play the host against it and report every broken rule",
        (
            Switch("--only", "check these rules alone, separated by commas", "RULES"),
            Switch("--list", "print every rule; PATH is not needed"),
            Switch("--timeout", "how long a tool may take", "SECONDS"),
            Switch("--json", "the report as JSON"),
        ),
        (DIR,),
        "It runs the extension for real: every command is invoked and every tool called, with a scratch directory "
        "for its state. Exit code 1 when a rule is broken. `zot docs checking-extensions` explains the report, "
        "`zot docs rules` every rule.",
        for_authors=True,
    ),
    Verb(
        "ext trace",
        "[NAME|PATH|FILE]",
        "watch frames in both directions",
        (
            Switch("--follow", "frames of a file that --ext-trace is writing", "FILE", FILE),
            Switch("--json", "frames as JSON lines"),
        ),
        (EXTENSION,),
        "An extension is started and driven by what you type: /command args, tool {…} or a raw frame. A FILE is one "
        "that --ext-trace or --record wrote.",
        for_authors=True,
    ),
    Verb(
        "ext replay",
        "FILE PATH",
        "play a recorded host against it and report the first difference",
        (
            Switch("--extension", "whose frames of the recording (default: its name)", "NAME", EXTENSION),
            Switch("--timeout", "how long to wait for a frame", "SECONDS"),
            Switch("--exact", "compare every byte of a frame, also what changes from run to run"),
        ),
        (FILE, DIR),
        for_authors=True,
    ),
    Verb(
        "local",
        "[COMMAND]",
        "a model on this machine, without key, account or network: fetch it, see it, serve it, remove it",
        more="`zot --provider local` uses what is installed; its server starts by itself, is shared by every zot of "
        "yours and ends with the last one. `zot local COMMAND --help` says more about one of them, `zot docs "
        "local-model` about all.",
    ),
    Verb(
        "local install",
        "[MODEL]",
        "fetch the weights of small (0.5 GB) or medium (1.1 GB), or take a GGUF file by its path",
        kinds=(("small", "medium"),),
        more="Without MODEL: medium where 4 GB of memory are free, else small. The weights come from their publisher, "
        "or else from the next source that has them, and are used only when their SHA-256 is the pinned one. An "
        "interrupted download goes on where it ended.",
    ),
    Verb(
        "local list",
        "",
        "what there is and what of it is installed; the default",
        (Switch("--json", "the same for a program"),),
    ),
    Verb("local remove", "MODEL…", "delete weights from the cache", kinds=(INSTALLED,)),
    Verb(
        "local serve",
        "[MODEL]",
        "run the server in the foreground, for other programs too, until you stop it",
        kinds=(INSTALLED,),
        more="MODEL is a name of `zot local list` or the path of a GGUF file. The address and the file with its key "
        "are printed; it speaks as OpenAI's and Anthropic's do. A server that runs already is used, and stays as long "
        "as this does.",
    ),
    Verb(
        "local status",
        "",
        "which servers run: process, address, memory, and who uses them",
        (Switch("--json", "the same for a program"),),
    ),
    Verb(
        "docs",
        "[TOPIC]",
        "read the documentation offline",
        kinds=(TOPIC,),
        more="Without TOPIC the table of contents is printed; TOPIC#PART is one part of a page.",
    ),
    Verb(
        "completions",
        "SHELL",
        "print a script that completes zot's words in bash, zsh or fish",
        kinds=(SHELLS,),
        more='bash and zsh: eval "$(zot completions SHELL)" in your ~/.bashrc or ~/.zshrc.\n'
        "fish: zot completions fish > ~/.config/fish/completions/zot.fish",
    ),
    Verb(
        "cost",
        "[SESSION]",
        "what was spent, by model, day and project",
        (
            Switch("--since", "7d, 2w, 6mo, a date such as 2026-11-01, or all (default: 30d)", "WHEN"),
            Switch("--by", "only one table: model, day or project", "WHAT", ("model", "day", "project")),
            Switch("--explain", "of one session, turn by turn: sent, cached, and the price without a cache"),
            Switch("--json", "the same for a program"),
        ),
        (SESSION,),
        "It adds up what sessions recorded and, from the ledgers of the days, what was spent without a session or in "
        "one that is deleted; a branch counts what is its own. SESSION goes with --explain: a number from `zot "
        "sessions`, the beginning of an id, or a path (default: the newest here). `zot docs spend-less` says more.",
    ),
    Verb(
        "doctor",
        "",
        "check this installation and say what is wrong",
        (Switch("--json", "the same for a program: ok, facts, extensions, notes, problems"),),
        more="Exit code 1 when something is wrong. Your extensions and those you trusted are started for a moment; "
        "what is not trusted is named and not run. No connection is opened and no setting changed.",
    ),
    Verb(
        "jail",
        "-- COMMAND",
        "run a command confined to this directory, held by the operating system",
        (
            Switch("--net", "with the network"),
            Switch("--jail-read --read", "a directory that may be read, too; may be repeated", "DIR", DIR),
            Switch("--jail-write --write", "a directory that may be changed, too; may be repeated", "DIR", DIR),
            Switch("--jail-level --level", "only where at least this can be held", "LEVEL", ("full", "reduced")),
            Switch("--check", "say what this machine can hold, and run nothing"),
        ),
        (TEXT,),
        "The command sees this directory, the system read-only, and a home and a temporary directory of its own. "
        "Its exit code is given back; 126 when the jail could not be built. `zot docs safety` says what levels stop.",
    ),
    Verb(
        "replay",
        "FILE [OUT]",
        "show a run that --record wrote, or run it once more and compare",
        (
            Switch("--speed", "so many times as fast as it was (default: 1)", "N"),
            Switch("--fast", "without waiting"),
            Switch("--step", "one step at a time: enter for the next, q and enter to end"),
            Switch("--verify", "run it once more through the real loop; exit 1 at the first difference"),
            Switch("--live-tools", "with --verify: tools really run, here, in this directory"),
            Switch("--live-extensions", "with --verify: the extensions really run, from where they were"),
            Switch("--to-script", "write its answers to OUT, for --script"),
        ),
        (FILE, FILE),
        "--verify uses the recorded model, tools, people and extensions, and never the network; what the agent makes "
        "of them has to be what it made then: requests, calls, frames, events. `zot docs recordings` says more.",
    ),
    Verb(
        "report",
        "[SESSION]",
        "bundle a session for a bug report: redacted, with version, platform and settings",
        (
            Switch("--recording", "a recording instead of a session: it can be verified, too", "FILE", FILE),
            Switch("--out", "the file to write (default: zot-report-….zotrec here)", "FILE", FILE),
            _CWD,
        ),
        (SESSION,),
        f"{_SESSION}\nNothing is sent. Look through it with `zot replay FILE` before you send it.",
    ),
    Verb(
        "update",
        "",
        "whether there is a newer zot and how to install it (asks only a feed you configured)",
        (Switch("--check", "exit 10 when there is one, 0 when not"),),
        more="`update_url` in config.json names the feed. Without it nobody is asked, and only the command is printed.",
    ),
)

_BY_PATH = {verb.path: verb for verb in VERBS} | {
    f"{verb.path.split()[0]} {alias}": verb for verb in VERBS for alias in verb.aliases
}


def verb_of(path: str) -> Verb | None:
    """``sessions fork``, ``ext rm``: the row, if there is one."""
    return _BY_PATH.get(path)


def below(path: str) -> list[Verb]:
    """The commands of ``sessions`` and ``ext``; with an empty path the verbs of zot."""
    depth = len(path.split()) + 1
    return [verb for verb in VERBS if len(verb.path.split()) == depth and verb.path.startswith(path)]


def options(path: str) -> Mapping[str, bool]:
    """Of each switch, by every name, whether it takes a value: what ``verb_arguments.parse`` asks for."""
    return {name: bool(switch.value) for switch in _BY_PATH[path].switches for name in switch.names}
