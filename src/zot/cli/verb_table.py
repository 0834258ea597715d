"""The table of verbs, for ``zot VERB --help``, parser, completions, reference and man page.
``kind`` is the kind of a word, for completions. ``main.VERBS`` and ``ext.dispatch.VERBS`` name the modules of verbs."""

from __future__ import annotations

TYPE_CHECKING = False  # importing `typing` would take longer than printing a page of help
if TYPE_CHECKING:
    from collections.abc import Mapping

# Kinds of words that are not a tuple of choices.
FILE, DIR, SESSION, EXTENSION, TOPIC, MODEL, PROVIDER, THEME, TOOLS, TEXT = (
    *("file", "dir", "session", "extension", "topic"),
    *("model", "provider", "theme", "tools", "text"),
)
ACCOUNT = "account"
INSTALLED = "installed"  # a local model
WORKER = "worker"  # of a swarm
TEMPLATES = ("progress", "question", "status", "provider")
LANGUAGES = ("python", "typescript", "go", "bash", "node")
SHELLS = ("bash", "zsh", "fish")
EDITORS = ("zed", "jetbrains", "neovim", "emacs", "vscode")
FORMATS = ("zotsession", "md", "html")
_USAGE_MAX = 72


class Switch:
    """``value`` is empty for a switch without one; ``older`` are former names: accepted, not documented."""

    def __init__(
        self,
        names: str,
        about: str,
        value: str = "",
        kind: str | tuple[str, ...] = TEXT,
        required: bool = False,
        older: str = "",
    ) -> None:
        self.names = tuple(names.split())
        self.about = about
        self.value = value
        self.kind = kind
        self.required = required
        self.older = tuple(older.split())

    @property
    def label(self) -> str:
        return ", ".join(self.names) + (f" {self.value}" if self.value else "")

    @property
    def usage(self) -> str:
        text = self.names[-1] + (f" {self.value}" if self.value else "")
        return text if self.required else f"[{text}]"


class Verb:
    """``path`` follows ``zot``; ``kinds`` has the kind of each word, the last one for all that follow.
    ``about`` is its line in tables, ``intro`` the first sentence of its page (default: ``about``). An example is a
    command line and a short comment."""

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
        intro: str = "",
        examples: tuple[tuple[str, str], ...] = (),
    ) -> None:
        self.path = path
        self.words = words
        self.about = about
        self.switches = switches
        self.kinds = kinds
        self.more = more
        self.aliases = aliases
        self.for_authors = for_authors
        self.intro = intro or f"{about[0].upper()}{about[1:]}."
        self.examples = examples

    @property
    def usage(self) -> str:
        """One line; many switches become ``[FLAGS]``."""
        switches = [switch.usage for switch in self.switches]
        # A command after ``--`` takes all remaining words.
        parts = [*switches, self.words] if self.words.startswith("--") else [self.words, *switches]
        line = " ".join(filter(None, (f"zot {self.path}", *parts)))
        return line if len(line) <= _USAGE_MAX else f"zot {self.path} [FLAGS] {self.words}".rstrip()


_CWD = Switch("--cwd", "use the sessions of this directory", "DIR", DIR)
_SESSION = "SESSION: number in the list, id prefix or file (default: the newest session)."
_ACCOUNT = Switch("--account", "name of the account, if you have several (default: active one)", "NAME", ACCOUNT)
_JSON = Switch("--json", "print JSON for programs")
_WORKER = "WORKER: id, id prefix or name."
_NAME = "NAME: name in the manifest, or of the directory."
_CHECK_TIMEOUT = Switch("--check-timeout", "stop the check after this time: 90s, 15m, 2h (default: 30m)", "TIME")
_KEY = Switch("--api-key", "API key for the workers; stored in memory only", "KEY")
_INSTALL = (
    Switch("--ref", "branch, tag or commit to install", "REF"),
    Switch("--subdir", "directory of the repository to install", "DIR"),
    Switch("--force", "replace an installed version; its data stays"),
)

_HOW = (  # switches that `swarm start`, `map` and `race` share
    Switch("--worktree", "run in its own worktree and branch (default in a git repository)"),
    Switch("--shared", "run in this directory, read-only (default elsewhere)"),
    Switch("--write", "with --shared: allow changes; one such worker at a time"),
    Switch("--include-dirty", "with --worktree: start with your uncommitted changes"),
    Switch("--cwd", "work in this directory", "DIR", DIR),
    Switch("--provider", "provider to use", "ID", PROVIDER),
    Switch("--model", "model to use", "ID", MODEL),
    Switch("--reasoning", "off, minimum, low, medium, high, xhigh, max", "LEVEL"),
    Switch("--script", "answers for --provider script", "FILE", FILE),
    _KEY,
    Switch("--tools", "only these tools", "LIST", TOOLS),
    Switch("--no-ext", "skip installed extensions"),
    Switch("--max-steps", "stop a worker after N model calls", "N"),
    Switch("--timeout", "stop a worker after this working time: 90s, 15m, 2h (default: 60m)", "TIME"),
    Switch("--on", "where to run: local, ray, ray://HOST:PORT (default: local)", "ENGINE"),
)
_SPENDING = (
    Switch("--max-cost", "stop before all workers together spend more than this", "USD"),
    Switch("--max-cost-each", "stop a worker before it spends more than this", "USD"),
)

VERBS: tuple[Verb, ...] = (
    Verb(
        "rpc",
        "[FLAGS]",
        "drive zot from a program: JSON lines on stdin and stdout",
        more="Sessions are saved only with --continue, --session or --session-file. `zot docs rpc` describes every "
        "command; clients exist for Python, TypeScript and Go.",
        intro="Drive zot from another program: it reads commands from stdin and writes events to stdout, one JSON "
        "object per line.",
        examples=(
            ("zot rpc", "wait for commands; nothing is saved"),
            ("zot rpc --continue --cwd ~/project", "continue the latest session there"),
            ("zot rpc --jail --permission-mode everything", "run unattended, confined to this directory"),
        ),
    ),
    Verb(
        "acp",
        "[FLAGS]",
        "use zot inside an editor: Zed, JetBrains, Neovim, Emacs, VS Code",
        (
            Switch("--setup", "print what to put into this editor's configuration", "EDITOR", EDITORS),
            Switch("--login", "log in to a provider; editors run this in a terminal"),
        ),
        more="The editor starts `zot acp` and speaks the Agent Client Protocol with it. FLAGS are those of a run, such "
        "as --model, --jail, --permission-mode; they apply to all sessions. The editor names the directory of a "
        "session; --cwd is for one that names none. See `zot docs editors`.",
        intro="Use zot inside an editor that speaks the Agent Client Protocol: the editor starts it.",
        examples=(
            ("zot acp --setup zed", "print the configuration for Zed"),
            ("zot acp --login", "log in to a provider in this terminal"),
            ("zot acp --jail --permission-mode everything", "confine every session to its directory"),
        ),
    ),
    Verb(
        "serve",
        "[FLAGS]",
        "show conversations in browsers, on phones and in other terminals",
        (
            Switch("--port", "listen on this port (default: a free one)", "PORT"),
            Switch("--idle", "end after this time without use, 0 for never (default: 30)", "MINUTES"),
            Switch("--lan", "also serve the local network, with TLS; shows a QR code"),
            Switch("--host", "also serve this address of this machine, with TLS", "ADDRESS"),
            Switch("--tls-cert", "use this certificate (PEM) instead of zot's own", "FILE"),
            Switch("--tls-key", "the key of that certificate", "FILE"),
            Switch("--quiet", "print no address; `zot serve` and /serve show one"),
        ),
        more="Prints an address with a token that adds one device; a second `zot serve` prints another one for the "
        "same server. FLAGS are those of a run, such as --model, --jail, --permission-mode; they apply to every "
        "conversation. See `zot docs serve`.",
        intro="Show conversations in the browser, on the phone and in other terminals; one client drives.",
        examples=(
            ("zot serve", "start it, or show the address of the one that runs"),
            ("zot serve --permission-mode ask --jail", "confine every conversation, ask for each call"),
            ("zot serve --lan", "also for a phone on the same network"),
        ),
    ),
    Verb(
        "attach",
        "[ADDRESS] [CONVERSATION]",
        "join a conversation of zot serve from this terminal",
        (
            Switch("--list", "list the running conversations of this machine"),
            Switch("--watch", "only watch: keys do nothing"),
            Switch("--cwd", "the directory of a new conversation", "DIR", DIR),
        ),
        (TEXT,),
        more="CONVERSATION is a running one, a stored session, or `new`; optional if just one is running. "
        "ADDRESS is one that `zot serve` printed, also of another machine; its token works once, then the address "
        "without it. Leaving the screen (ctrl+d, /exit) ends nothing.",
        intro="Join a running conversation from this terminal: the same screen as where it was started.",
        examples=(
            ("zot attach", "join the conversation that is running"),
            ("zot attach --list", "find the others"),
            ("zot attach new", "start one that goes on without a terminal"),
        ),
    ),
    Verb("serve devices", "", "list the devices that have a key"),
    Verb("serve stop", "", "end the server; conversations are saved"),
    Verb(
        "serve revoke",
        "[NAME]",
        "shut out a device, also while it is connected",
        (Switch("--all", "revoke every device, and addresses that were not used"),),
        (TEXT,),
        examples=(("zot serve revoke phone", "it needs a new address of `zot serve`"),),
    ),
    Verb(
        "sessions",
        "[COMMAND]",
        "list, search, export, import, fork, rewind and prune sessions",
        more=_SESSION,
        intro="Manage saved conversations: find, share, branch, undo or delete them.",
        examples=(
            ("zot sessions", "list the sessions of this directory"),
            ("zot sessions search oauth token", "find the session that contains these words"),
            ("zot sessions export 1 page.html", "write the newest one as a web page"),
        ),
    ),
    Verb(
        "sessions list",
        "",
        "list the sessions of this directory, newest first (default)",
        (Switch("--all", "list the sessions of all directories, also runs without an answer"), _CWD),
        more="Columns: number, age, model, messages, cost, id prefix, title, and for a branch its parent. Two or more "
        "runs without an answer or title are one line; --all shows them.",
    ),
    Verb(
        "sessions search",
        "WORDS",
        "find sessions by words in titles, prompts, answers and tool calls",
        (Switch("--all", "search the sessions of all directories"), Switch("--json", "print JSON lines"), _CWD),
        (TEXT,),
        "A session matches if one message or its title contains all words, in upper or lower case. Each line of --json "
        "has id, parent, path, cwd, title, role and snippet. Exit status: 1 if no session matches.",
        examples=(
            ("zot sessions search oauth token", "search this directory's sessions"),
            ("zot sessions search --all --json deadlock", "search everywhere, for a program"),
        ),
    ),
    Verb("sessions path", "[SESSION]", "print the path of the session file", (_CWD,), (SESSION,), _SESSION),
    Verb(
        "sessions rename",
        "SESSION TITLE",
        "change the title of a session",
        (_CWD,),
        (SESSION, TEXT),
        _SESSION,
        examples=(('zot sessions rename 1 "fix the parser"', "rename the newest one"),),
    ),
    Verb("sessions tree", "", "show which session was forked from which", (_CWD,)),
    Verb(
        "sessions fork",
        "[SESSION]",
        "start a new session with the first messages of another",
        (Switch("--at", "number of messages to copy (default: all)", "N"), _CWD),
        (SESSION,),
        _SESSION,
        examples=(("zot sessions fork 1 --at 4", "copy the first 4 messages of the newest session"),),
    ),
    Verb(
        "sessions rewind",
        "[SESSION]",
        "undo prompts: restore the conversation, the changed files, or both",
        (
            Switch("--to", "go back to before prompt N (default: list the prompts)", "N"),
            Switch("--undo", "undo the last file rewind"),
            Switch("--files", "restore only the files"),
            Switch("--conversation", "restore only the conversation"),
            Switch("--overwrite", "also restore files that were changed outside zot since"),
            Switch("--dry-run", "show the changes without making them"),
            Switch("--yes", "skip the confirmation"),
            _CWD,
        ),
        (SESSION,),
        f"{_SESSION}\nThe conversation continues in a new session, whose path is printed; the old one stays. Exit "
        "status: 1 if a file could not be restored. See `zot docs rewind`.",
        examples=(
            ("zot sessions rewind", "list the prompts of the newest session and their changes"),
            ("zot sessions rewind --to 3", "go back to before prompt 3"),
            ("zot sessions rewind --undo", "restore the files as they were before that"),
        ),
    ),
    Verb(
        "sessions export",
        "[SESSION] [DEST]",
        "write a session to a file to share or read (default: ~/Downloads)",
        (
            Switch("--format", "zotsession, md or html (default: by the suffix of DEST)", "FORMAT", FORMATS),
            Switch("--redact", "replace credentials, personal addresses and paths"),
            Switch("--scrub", "replace paths of this machine"),
            _CWD,
        ),
        (SESSION, FILE),
        f"{_SESSION}\nMarkdown and HTML pages contain all messages and every tool call with its result. The HTML page "
        "is one file without scripts or external resources.",
        examples=(
            ("zot sessions export 1 talk.md", "write the newest session as Markdown"),
            ("zot sessions export --redact", "write a file that is safe to share"),
        ),
    ),
    Verb("sessions import", "FILE", "add a .zotsession file to this directory's sessions", (_CWD,), (FILE,)),
    Verb(
        "sessions prune",
        "",
        "delete old sessions, or those of deleted directories",
        (
            Switch("--older-than", "only sessions last used before this: 30d, 6mo", "AGE"),
            Switch("--cwd", "only sessions of this directory", "DIR", DIR),
            Switch("--dry-run", "list the sessions without deleting them"),
            Switch("--all", "select all of them"),
            Switch("--yes", "skip the confirmation; needs --all"),
        ),
        more="zot lists the sessions first; you select and confirm.",
        examples=(("zot sessions prune --older-than 6mo --all --yes", "delete without a question"),),
    ),
    Verb(
        "auth",
        "[COMMAND]",
        "log in to model providers and switch accounts",
        more="Secrets are never shown or printed, and zot tests them with the provider before it stores them. See `zot "
        "docs logging-in`.",
        intro="Log in to model providers, with an API key or in the browser, and see which credential a run uses.",
        examples=(
            ("zot auth login anthropic", "paste a key, here or in the browser"),
            ("zot auth", "list credentials; ● marks the active ones"),
            ("zot auth test anthropic", "check that the provider accepts it"),
        ),
    ),
    Verb(
        "auth list",
        "",
        "list all credentials: account, kind, source, expiry (default)",
        (_JSON,),
        more="● marks the credential a run would use. This contacts no provider, keyring or helper command.",
    ),
    Verb(
        "auth import",
        "[NAME…]",
        "copy API keys of other programs on this machine",
        (
            Switch("--all", "copy every key that is listed"),
            Switch("--dry-run", "list what would be copied"),
            Switch("--no-test", "do not test the keys with their providers"),
            _JSON,
        ),
        (TEXT,),
        "Programs: Codex, pi, opencode, llm, aider, and environment files. Without a name, zot lists what it found, "
        "and asks on a terminal. Keys are never shown; the last four characters identify them. Logins are not "
        "copied: their refresh tokens change at each use, so that a copy would log the other program out. A key for a "
        "provider that has a credential is stored as another account, named after the program.\n"
        "NAME: a name from the list, such as llm/openai, or a program, such as llm. Keys in files of this directory "
        "are copied only by name.",
        examples=(
            ("zot auth import", "list and choose"),
            ("zot auth import llm/openai codex/openai", "copy two keys"),
        ),
    ),
    Verb(
        "auth login",
        "PROVIDER",
        "store an API key or log in to a subscription",
        (
            Switch("--key", "paste an API key"),
            Switch("--key-stdin", "read an API key from stdin"),
            Switch("--browser", "log in with the browser"),
            Switch("--device", "log in with a code on another device"),
            _ACCOUNT,
            Switch("--timeout", "stop waiting after this many seconds (default: 600)", "SECONDS"),
        ),
        (PROVIDER,),
        "Without a flag: OAuth if models.json has a client id for the provider, else an API key, pasted here or on the "
        "page zot opens; for openai zot asks: ChatGPT plan or key. zot tests a key before it stores it. The last login "
        "becomes the active account.\n"
        "PROVIDER: a name from `zot --list-models` or your models.json.",
        examples=(
            ("zot auth login anthropic", "paste a key, here or in the browser"),
            ("zot auth login openai --browser", "use your ChatGPT plan"),
            ("zot auth login openai --key-stdin < key.txt", "read the key from a file"),
            ("zot auth login openai --account work", "add a second account"),
        ),
    ),
    Verb(
        "auth logout",
        "PROVIDER|all",
        "delete a stored credential",
        (_ACCOUNT,),
        (PROVIDER,),
        "Other accounts of the provider stay; `all` deletes every stored credential.",
    ),
    Verb(
        "auth test",
        "PROVIDER",
        "check that the provider accepts your credential",
        kinds=(PROVIDER,),
        more="It tests the credential a run would use. Exit status: 0 if accepted, else 1 with the provider's message.",
    ),
    Verb(
        "auth use",
        "PROVIDER ACCOUNT",
        "switch to another stored account",
        kinds=(PROVIDER, ACCOUNT),
        examples=(("zot auth use openai work", "use the account named work"),),
    ),
    Verb(
        "models",
        "[WORDS]",
        "list and search models, set prices, update the catalogue",
        (Switch("--usable", "only models of providers with a credential"), _JSON),
        (TEXT,),
        "A model matches if its provider, id or name contains all WORDS. Prices are USD per million tokens; an empty "
        "field is unknown. zot downloads no catalogue unless you ask. Exit status: 1 if no model matches. See `zot "
        "docs models`.",
        intro="List the models zot knows with their windows and prices, look one up, or set a price.",
        examples=(
            ("zot models opus", "search"),
            ("zot models show claude-opus-5-5", "every fact of one model"),
            ("zot models price gpt-7-sol 2 10", "set a price zot does not know"),
        ),
    ),
    Verb(
        "models show",
        "MODEL",
        "show every known fact of one model",
        (_JSON,),
        (MODEL,),
        "MODEL: an id, PROVIDER/ID, or a part of one id. A fact that no source has is unknown.",
        examples=(
            ("zot models show sonnet-5-5", "a part of an id is enough"),
            ("zot models show openrouter/z-ai/glm-5.3", "at one provider"),
            ("zot models show --json gpt-6.1-sol", "for a program"),
        ),
    ),
    Verb(
        "models price",
        "MODEL INPUT OUTPUT",
        "set the price of a model, in USD per million tokens",
        (
            Switch("--cached", "price of input read from the prompt cache", "USD"),
            Switch("--written", "price of input written to the prompt cache", "USD"),
            Switch("--provider", "provider of the model, if zot does not know it", "ID", PROVIDER),
        ),
        (MODEL, TEXT),
        "It is stored in models.json of your zot home. 0 0 means free.",
        intro="Set the price of a model that zot does not know, so that spending limits can count it.",
        examples=(
            ("zot models price gpt-7-sol 2 10", "two dollars in, ten out"),
            ("zot models price --cached 0.2 gpt-7-sol 2 10", "with a price for cached input"),
            ("zot models price --provider my-company coder 0 0", "free, at your own server"),
        ),
    ),
    Verb(
        "models update",
        "",
        "use a newer catalogue from a file or an https address",
        (
            Switch("--from", "where it is (default: catalog_url in config.json)", "URL|FILE", FILE),
            Switch("--sha256", "accept only a catalogue with this hash", "HASH"),
            Switch("--yes", "skip the confirmation"),
        ),
        more="zot checks the whole catalogue, shows its hash and what changes, and asks. It is stored as catalog.json "
        "in your zot home; delete that file to return to the built-in catalogue.",
        intro="Use a newer catalogue of models and prices; its rows replace those of the built-in one.",
        examples=(
            ("zot models update --from models.json", "from a file"),
            ("zot models update --from https://models.example/zot.json", "from an address"),
            ("zot models update --from models.json --sha256 9f86d081…", "pinned, without a question"),
        ),
    ),
    Verb(
        "mcp",
        "[COMMAND]",
        "manage MCP servers: add, test, trust and remove them",
        more="Files: mcp.json in your zot home; .mcp.json and .zot/mcp.json in a project (need trust). For one "
        "run: `zot --mcp-config FILE`. See `zot docs mcp`.",
        intro="Manage MCP servers: add, test, trust and remove them to give the model their tools.",
        examples=(
            ("zot mcp add files -- npx -y @modelcontextprotocol/server-filesystem .", "add a local server"),
            ("zot mcp add tracker https://mcp.example.com", "add a remote one"),
            ("zot mcp import", "copy from other agents"),
        ),
    ),
    Verb("mcp list", "", "list servers and whether they would run (default)", (_JSON,)),
    Verb("mcp get", "NAME", "show a server's cached tools and prompts", (_JSON,), (TEXT,)),
    Verb(
        "mcp add",
        "NAME URL|-- COMMAND",
        "add a server: a URL, or the command that starts it",
        (
            Switch("--env", "environment variable for COMMAND, NAME=VALUE (repeatable)", "PAIR"),
            Switch("--header", "HTTP header for URL, NAME: VALUE (repeatable)", "PAIR"),
            Switch("--project", "add it to .mcp.json of this directory, not to your zot home"),
            Switch("--force", "replace the server with this name"),
        ),
        (TEXT,),
        "${VAR} and ${VAR:-default} are expanded when the server starts, so secrets can stay in the environment.",
        examples=(
            ("zot mcp add files -- npx -y @modelcontextprotocol/server-filesystem .", "local server"),
            ("zot mcp add tracker https://mcp.example.com", "remote server"),
            ("zot mcp add --env 'TOKEN=${TOKEN}' tracker -- tracker-mcp", "with a secret"),
        ),
    ),
    Verb("mcp remove", "NAME", "delete a server from its file", kinds=(TEXT,)),
    Verb(
        "mcp import",
        "[PROGRAM]",
        "copy servers from claude, codex, vscode or cursor",
        (
            Switch("--dry-run", "list the servers without copying them"),
            Switch("--force", "replace servers with the same name"),
        ),
        (("claude", "codex", "vscode", "cursor"),),
        "A project's .mcp.json needs no import: zot reads it.",
        examples=(("zot mcp import claude --dry-run", "list what would be copied"),),
    ),
    Verb(
        "mcp login",
        "NAME",
        "log in to a server with OAuth in the browser",
        (Switch("--timeout", "stop waiting after this many seconds (default: 600)", "SECONDS"),),
        (TEXT,),
        "zot stores the login with your other credentials and refreshes it. If the server does not allow registration, "
        'add "oauth": {"client_id": "…"} to its entry.',
    ),
    Verb("mcp logout", "NAME", "delete a server's login", kinds=(TEXT,)),
    Verb(
        "mcp test",
        "NAME",
        "start a server, list its tools, stop it",
        kinds=(TEXT,),
        more="Exit status: 0 if the server answered.",
    ),
    Verb(
        "mcp trust",
        "[NAME…]",
        "allow this project's servers, exactly as configured now",
        kinds=(TEXT,),
        more="Without NAME: all of them. After a change in the file the server needs trust again.",
    ),
    Verb("mcp untrust", "NAME…", "revoke trust", kinds=(TEXT,)),
    Verb(
        "mcp serve",
        "[FLAGS]",
        "be an MCP server, so that other agents can give zot tasks",
        (
            Switch("--http", "serve HTTP at this port instead of stdin and stdout; 0 chooses one", "[HOST:]PORT"),
            Switch("--token", "require a bearer token: ZOT_MCP_TOKEN, or a new one, printed"),
        ),
        more="Clients only read unless --permission-mode allows more. FLAGS are those of a run, such as --model, "
        "--jail, --max-cost, --tools; they are fixed for all clients. See `zot docs mcp-server`.",
        examples=(
            ("claude mcp add zot -- zot mcp serve", "Claude Code can ask zot, which only reads"),
            ("zot mcp serve --permission-mode everything --jail", "it may change this directory"),
            ("zot mcp serve --http 8123 --token", "programs connect over HTTP"),
        ),
    ),
    Verb(
        "swarm",
        "[COMMAND]",
        "run agents in the background, each in its own worktree",
        more=f"{_WORKER} Workers keep running when you close the terminal; in a git repository each has its own "
        "worktree and branch and can change nothing else. See `zot docs swarm`.\n"
        "Status: waiting = needs your answer, idle = finished, accepts messages, lost = its process died.",
        intro="Run agents in the background, for a task that splits into parts or to try one task several times.",
        examples=(
            ('zot swarm start --name readme "write a README"', "start a worker"),
            ("zot swarm diff readme", "show its changes"),
            ("zot swarm merge readme", "apply them to your files, uncommitted"),
        ),
    ),
    Verb(
        "swarm start",
        "TASK",
        "start a worker, print its id",
        (
            Switch("--name", "name of the worker (default: a few words of the task)", "NAME"),
            *_HOW,
            Switch("--no-yolo", "ask before its tool calls; answer with `zot swarm attach`"),
            Switch("--max-cost", "stop it before it spends more than this", "USD"),
            Switch("--restarts", "restart up to N times if its process is killed (default: 0)", "N"),
            Switch("--once", "exit after this task"),
            Switch("--wait", "wait and print its answer; exit status 1 if it did not finish"),
            Switch("--resume", "continue this worker instead of starting one", "WORKER"),
            _JSON,
        ),
        (TEXT,),
        "TASK is - to read it from stdin. At most `swarm_agents` workers (setting, default 4) run at once.",
        intro="Start a worker in the background, print its id and return.",
        examples=(
            ('zot swarm start "write a README"', "start a worker and return"),
            ('zot swarm start --wait "find dead code" > report.txt', "wait and save its answer"),
            ("zot swarm start --max-cost 0.50 - < task.md", "read the task from a file, limit its cost"),
        ),
    ),
    Verb(
        "swarm map",
        "FILE [TASK]",
        "start one worker per line of FILE, write answers as JSON lines",
        (
            Switch("--max-agents", "run up to N at once (default: the setting `swarm_agents`)", "N"),
            *_SPENDING,
            Switch("--schema", "JSON Schema for answers; retried once if one does not match", "FILE", FILE),
            Switch("--output", "file for the results (default: NAME.results.jsonl)", "FILE", FILE),
            Switch("--retries", "retry a failed item up to N times (default: 1)", "N"),
            Switch("--resume", "continue: skip finished items, retry failed ones"),
            *_HOW,
        ),
        (FILE, TEXT),
        "FILE has one item per line, or is - for stdin; {item} in TASK is replaced by the item. Each result is written "
        "as soon as it is finished: --resume continues after Ctrl+C, a spent budget or a restart. Exit status: 0 if "
        "every item is done.",
        examples=(
            ('zot swarm map files.txt "add type hints to {item}"', "one worker per file"),
            ('git ls-files "*.py" | zot swarm map - "review {item}"', "items from stdin"),
            ("zot swarm map files.txt --resume", "continue after an interruption"),
        ),
        intro="Start one worker per line of FILE and write their answers as JSON lines, to split a task by item.",
    ),
    Verb(
        "swarm race",
        "N TASK",
        "try one task N times; list those that pass, cheapest first",
        (
            Switch("--check", "command that must succeed in a copy of a worker's files", "COMMAND"),
            _CHECK_TIMEOUT,
            *_SPENDING,
            Switch("--name", "name the workers NAME-1, NAME-2, …", "NAME"),
            _JSON,
            *(switch for switch in _HOW if switch.names[0] not in ("--worktree", "--shared", "--write")),
        ),
        (TEXT, TEXT),
        "It merges and deletes nothing: use `zot swarm merge`. Exit status: 0 if one passed, else 1.",
        examples=(('zot swarm race 3 --check "make test" "fix the parser"', "list the attempts that pass"),),
        intro="Try one task N times and list the attempts whose check passes, cheapest first.",
    ),
    Verb(
        "swarm list",
        "",
        "list active workers (default)",
        (Switch("--all", "also list workers that ended"), _JSON),
        more="Columns: id, name, status, age, model, cost, mode, activity.\n"
        "Status: queued, running, waiting (needs your answer), idle (finished, accepts messages), lost (its process "
        "died; continue with `zot swarm resume`).",
    ),
    Verb(
        "swarm show",
        "WORKER",
        "show its status, changes and last answer",
        (_JSON,),
        (WORKER,),
        _WORKER,
        intro="Show a worker's status, changes and last answer.",
    ),
    Verb(
        "swarm logs",
        "WORKER",
        "print its transcript",
        (
            Switch("-f --follow", "continue printing until it ends"),
            Switch("--json", "print every event as a JSON line"),
        ),
        (WORKER,),
        _WORKER,
        intro="Print a worker's transcript.",
    ),
    Verb(
        "swarm attach",
        "WORKER",
        "watch it and type messages; Ctrl+D detaches",
        kinds=(WORKER,),
        more=f"{_WORKER} Answer its approval questions with y or n.",
        intro="Watch a worker and type messages or answers; Ctrl+D detaches and leaves it running.",
    ),
    Verb(
        "swarm send",
        "WORKER TEXT",
        "queue a message; it reads it after its current task",
        kinds=(WORKER, TEXT),
        more=f"{_WORKER} TEXT is - to read it from stdin.",
        examples=(('zot swarm send readme "add an install section"', "give it another task"),),
        intro="Queue a message for a worker, which reads it after its current task.",
    ),
    Verb(
        "swarm wait",
        "WORKER…",
        "wait until it finishes, then print its last answer",
        (Switch("--timeout", "stop waiting after this time: 90s, 15m, 2h", "TIME"), _JSON),
        (WORKER,),
        f"{_WORKER} Exit status: 0 if it finished its task, else 1.",
        intro="Wait until a worker finishes, then print its last answer.",
    ),
    Verb(
        "swarm stop",
        "[WORKER]",
        "stop it and all its processes",
        (Switch("--all", "stop all workers"),),
        (WORKER,),
        f"{_WORKER} Its record, worktree and branch stay.",
        intro="Stop a worker and all its processes.",
    ),
    Verb(
        "swarm resume",
        "WORKER",
        "continue a stopped or lost worker where it ended",
        (
            _KEY,
            Switch("--wait", "wait and print its answer"),
            _JSON,
        ),
        (WORKER,),
        f"{_WORKER} The task is not sent again.",
    ),
    Verb(
        "swarm diff",
        "WORKER",
        "show its changes since it started, committed or not",
        (Switch("--stat", "show only the number of changed lines"),),
        (WORKER,),
        _WORKER,
        intro="Show a worker's changes since it started, committed or not.",
    ),
    Verb(
        "swarm merge",
        "[WORKER…]",
        "apply its changes to your files, uncommitted",
        (
            Switch("--all", "merge all workers of this repository that ended without failing"),
            Switch("--squash", "change the files and commit nothing (default)"),
            Switch("--no-ff", "create a merge commit"),
            Switch("--patch", "write a patch file for `git apply` and change nothing"),
            Switch("--output", "with --patch: file to write (default: NAME.patch)", "FILE", FILE),
            Switch("--into", "merge into this branch (default: the current one)", "BRANCH"),
            Switch("--check", "merge only if this command succeeds in a copy of the result", "COMMAND"),
            _CHECK_TIMEOUT,
            Switch("--repair", "let the worker resolve conflicts in its own worktree"),
            _JSON,
        ),
        (WORKER,),
        f"{_WORKER}\nzot changes your files only if everything fits: it refuses a worker that changed a file with "
        "uncommitted changes of yours, and a conflict changes nothing. Several workers merge one after another; one "
        "that does not fit is skipped and reported.\nExit status: 0 if all are merged, 3 for a conflict, else 1.",
        examples=(
            ("zot swarm merge readme", "apply its changes, uncommitted"),
            ('zot swarm merge --all --check "make test"', "merge all whose tests pass"),
            ("zot swarm merge readme --patch", "write readme.patch instead"),
        ),
        intro="Apply a worker's changes to your files, uncommitted, after you reviewed them with `zot swarm diff`.",
    ),
    Verb(
        "swarm rm",
        "WORKER…",
        "delete its record, worktree and branch",
        (Switch("--force", "also delete unmerged changes"),),
        (WORKER,),
        _WORKER,
        intro="Delete a worker's record, worktree and branch.",
    ),
    Verb(
        "swarm prune",
        "",
        "delete workers that ended and have no unmerged changes",
        (
            Switch("--older", "only workers that ended at least this long ago: 30m, 2h, 7d", "TIME"),
            Switch("--force", "also delete workers with unmerged changes"),
        ),
    ),
    Verb(
        "hooks",
        "[COMMAND]",
        "review and trust hooks: commands that run on events",
        more="Files: hooks.json in your zot home, ~/.claude/settings.json; in a project .claude/settings.json, "
        ".claude/settings.local.json and .zot/hooks.json (need trust). See `zot docs hooks`.",
        intro="Review and trust hooks: commands that run on events such as PreToolUse; Claude Code's hooks work "
        "unchanged.",
        examples=(
            ("zot hooks", "list hooks and whether they run"),
            ("zot hooks trust", "allow all hooks of this project"),
            ("zot hooks untrust .claude/settings.json", "revoke trust in one file"),
        ),
    ),
    Verb("hooks list", "", "list hooks by file and whether they run (default)", (_JSON,)),
    Verb(
        "hooks trust",
        "[FILE…]",
        "allow the hooks of these files, exactly as they are now",
        kinds=(TEXT,),
        more="Without FILE: those of all files. After a change a hook needs trust again.",
    ),
    Verb("hooks untrust", "[FILE…]", "revoke trust", kinds=(TEXT,)),
    Verb(
        "permissions",
        "[COMMAND]",
        "list, check and change permission rules",
        more="Files: config.json in your zot home, ~/.claude/settings.json; in a project .zot/settings.json, "
        ".claude/settings.json and .claude/settings.local.json (allow rules need trust). See `zot docs "
        "permission-rules`.",
        intro="List permission rules, see what decides about a call, and add or remove rules.",
        examples=(
            ("zot permissions add deny 'Read(~/.ssh/**)'", "for every project"),
            ("zot permissions add --project allow 'Bash(npm test:*)'", "for everyone in this project"),
            ("zot permissions check npm test", "what decides about a command"),
        ),
    ),
    Verb("permissions list", "", "list rules, the strongest first (default)", (_JSON,)),
    Verb(
        "permissions check",
        "CALL",
        "show which rule, saved answer or mode decides about a call",
        (Switch("--permission-mode", "as in this mode (default: that of the settings, else ask)", "MODE"),),
        (TEXT,),
        more="CALL is a command (npm test), a tool with its argument (read .env, 'Read(.env)', web_fetch URL), or a "
        "tool with its arguments as JSON. Nothing runs.",
        aliases=("why",),
    ),
    Verb(
        "permissions add",
        "LIST RULE",
        "add a rule to the list allow, ask or deny",
        (Switch("--project", "to .zot/settings.json of this directory, not to your zot home"),),
        (TEXT, TEXT),
    ),
    Verb(
        "permissions remove",
        "[LIST] RULE",
        "delete a rule from a list of its file, or from all lists",
        (Switch("--project", "from .zot/settings.json of this directory, not from your zot home"),),
        (TEXT,),
        aliases=("rm",),
    ),
    Verb("permissions trust", "", "apply the allow rules of this project, exactly as they are now"),
    Verb("permissions untrust", "", "revoke trust"),
    Verb(
        "plugin",
        "[COMMAND]",
        "manage plugins: packages of skills, MCP servers, hooks, templates",
        more="Formats: Agent Plugins 1.0 (plugin.json) and Claude Code plugins (.claude-plugin/plugin.json). See `zot "
        "docs plugins`.",
        intro="Install and remove plugins, packages of skills, MCP servers, hooks and prompt templates, such as those "
        "for Claude Code.",
        examples=(
            ("zot plugin install https://example.com/tools.git", "review and install one"),
            ("zot plugin", "list plugins and the commands they run"),
            ("zot plugin doctor", "find out why one is not used"),
        ),
    ),
    Verb("plugin list", "", "list plugins and the commands they would run (default)", (_JSON,)),
    Verb(
        "plugin install",
        "PATH|URL|OWNER/REPO [NAME]",
        "install from a directory or git repository, after confirmation",
        (*_INSTALL, Switch("--yes", "accept the commands it would run")),
        (DIR,),
        "NAME is a plugin of a marketplace. Installing runs nothing; later the plugin runs only what you confirmed.",
        examples=(
            ("zot plugin install https://example.com/tools.git --ref v2", "install a tag"),
            ("zot plugin install anthropics/skills document-skills", "install from a marketplace"),
        ),
    ),
    Verb("plugin remove", "NAME…", "remove plugins; their data stays", kinds=(TEXT,)),
    Verb("plugin enable", "NAME…", "enable plugins", kinds=(TEXT,)),
    Verb("plugin disable", "NAME…", "disable plugins", kinds=(TEXT,)),
    Verb(
        "plugin doctor",
        "[NAME…]",
        "explain why plugins or parts of them are not used",
        kinds=(TEXT,),
        more="Exit status: 1 if a plugin is not used.",
    ),
    Verb(
        "ext",
        "COMMAND",
        "install, trust, write and check extensions",
        more=f"{_NAME} `zot --ext PATH` loads an extension for one run. See `zot docs extensions`.",
        intro="Manage extensions, programs that add tools, slash commands, guards and panels, or write your own.",
        examples=(
            ("zot ext install https://example.com/tools.git", "install one from git"),
            ("zot ext doctor", "find out why one is missing"),
            ("zot ext new notes --lang python", "write your own from a starter"),
        ),
    ),
    Verb(
        "ext list",
        "",
        "list installed extensions and whether they are trusted",
        (Switch("--json", "print JSON, with install source and data directory"),),
    ),
    Verb(
        "ext install",
        "PATH|URL|NAME",
        "install from a directory, a git repository or an index",
        _INSTALL,
        (DIR,),
        "NAME or NAME@VERSION is looked up in your indexes (`zot ext index`). Short form: URL@REF#DIR. Installing "
        "runs, builds and downloads nothing else; if it fails, nothing changes. "
        "Files that git ignores and that look like your data are not copied.",
        examples=(
            ("zot ext install ./weather", "copy a directory"),
            ("zot ext install weather@1.2.0", "a version from an index you added"),
            ("zot ext install https://example.com/tools.git --ref v2", "install a tag"),
            ("zot ext install https://example.com/tools.git@v2#weather", "a directory of that tag"),
        ),
    ),
    Verb(
        "ext search",
        "[WORDS…]",
        "search the indexes you added (default: list all)",
        more="It reads the copies on this machine; `zot ext index refresh` fetches new ones. Exit status: 1 if nothing "
        "matches.",
        examples=(("zot ext search weather", "names, descriptions and keywords"),),
    ),
    Verb(
        "ext index",
        "COMMAND",
        "add, list, remove, refresh, build and check indexes",
        (
            Switch("--key", "Ed25519 public key of the publisher, in base64", "KEY"),
            Switch("--name", "with build: name of the index", "NAME"),
            Switch("--zot", "with build: versions of zot that new entries need, such as >=0.2,<1", "RANGE"),
        ),
        more="add URL|PATH, list, remove URL|NAME, refresh [URL|NAME…], build DIR, check FILE. No index is built in, "
        "and zot fetches one only when you add, refresh or update. With a key, an index without its signature is "
        "refused and the old copy stays. See `zot docs publishing-extensions`.",
        examples=(
            ("zot ext index add https://example.com/index.json --key KEY", "add a signed index"),
            ("zot ext index refresh", "fetch all again"),
            ("zot ext index build ./extensions", "write index.json and archives"),
            ("zot ext index check ./extensions/index.json", "verify names, hashes and signature"),
        ),
    ),
    Verb(
        "ext update",
        "[NAME…]",
        "update extensions from their install source (default: all)",
        (
            Switch("--all", "update all you installed"),
            Switch("--force", "also replace local changes, and guards that stop being guards"),
            Switch("--dry-run", "show the changes without making them"),
        ),
        (EXTENSION,),
        f"{_NAME} A branch updates to its newest commit; a tag or commit stays. Data and the enabled state stay. If an "
        "update fails, the old version stays.",
    ),
    Verb(
        "ext remove",
        "NAME",
        "delete an installed extension; asks about its data",
        (
            Switch("-y --yes", "skip the confirmation; its data stays"),
            Switch("--keep-data", "keep its data without asking"),
            Switch("--delete-data", "delete its data without asking"),
        ),
        (EXTENSION,),
        f"{_NAME} Its log stays.",
        aliases=("rm",),
    ),
    Verb("ext enable", "NAME", "enable an extension", kinds=(EXTENSION,), more=_NAME),
    Verb("ext disable", "NAME", "disable an extension without removing it", kinds=(EXTENSION,), more=_NAME),
    Verb(
        "ext set",
        "NAME [KEY [VALUE]]",
        "show or change the settings of an extension",
        (Switch("--reset", "back to the default; deletes a secret"),),
        (EXTENSION,),
        f"{_NAME} Without KEY: all its settings. A secret is typed or read from standard input and stored with "
        "the API keys.",
        examples=(
            ("zot ext set deploy region eu-1", "change a setting"),
            ("zot ext set search key", "type a secret"),
        ),
    ),
    Verb(
        "ext deny",
        "NAME WORD",
        "take away a word of its uses",
        kinds=(EXTENSION,),
        more=f"{_NAME} `zot ext list --json` shows the words of `uses`; the extension runs on without this one.",
    ),
    Verb("ext allow", "NAME WORD", "give back a word taken away with deny", kinds=(EXTENSION,), more=_NAME),
    Verb(
        "ext logs",
        "NAME",
        "print its stderr and zot's messages about it",
        (Switch("-f --follow", "continue printing new lines"),),
        (EXTENSION,),
        _NAME,
        intro="Print an extension's stderr and zot's messages about it.",
    ),
    Verb(
        "ext trust",
        "[DIR|NAME]",
        "allow a project's extensions, as they are now (default: here)",
        (Switch("--unconfined", "run them unconfined, whatever permissions they declare"),),
        kinds=(DIR,),
        more="zot lists each extension with its command and permissions, and starts nothing. After a change of its "
        "files it needs trust again. NAME of an installed extension: accept its current files and permissions.",
        examples=(("zot ext trust", "trust the extensions of this project"),),
    ),
    Verb("ext untrust", "[DIR]", "revoke trust in a project's extensions (default: here)", kinds=(DIR,)),
    Verb(
        "ext doctor",
        "[PATH|NAME…]",
        "load all extensions and explain why one is missing",
        kinds=(DIR,),
        more="It changes nothing and does not start untrusted extensions. PATH is loaded as with --ext. With PATH or "
        "NAME, only problems of that extension are printed.",
    ),
    Verb(
        "ext new",
        "NAME",
        "create a working starter with a test",
        (
            Switch("--lang", ", ".join(LANGUAGES), "LANG", LANGUAGES, required=True),
            Switch("--dir", "directory to create (default: ./NAME)", "DIR", DIR),
            Switch("--guard", "create a guard of tool calls"),
            Switch("--template", ", ".join(TEMPLATES), "TEMPLATE", TEMPLATES),
        ),
        (TEXT,),
        "The starter includes the SDK of its language: nothing to install or download.",
        for_authors=True,
        examples=(
            ("zot ext new notes --lang python", "create ./notes"),
            ("zot ext new safe --lang bash --guard", "create a guard of tool calls"),
            ("zot ext new ask --lang go --template question", "create a guard that asks you"),
        ),
    ),
    Verb(
        "ext dev",
        "PATH [PROMPT…]",
        "run it, show its frames and stderr, restart at every change",
        (
            Switch("--no-check", "do not check the rules after each start"),
            Switch("--once", "start once and exit; exit status 1 if something is wrong"),
            Switch("--filter", "show only frames with these types, methods or ids", "WORDS"),
            Switch("--send", "send this frame, /command or tool {…} after each start", "FRAME"),
        ),
        (DIR, TEXT),
        "Type /command args, tool {…} or a whole frame to try it; again repeats the last frame, again ID that one; "
        "filter WORDS shows fewer frames; answer OUTCOME sets how dialogs end; r restarts. With PROMPT, zot runs "
        "`zot -p PROMPT` with the extension after each change; flags after -- go to that run. The extension's own data "
        "files are not watched, and its state survives a restart.",
        for_authors=True,
        examples=(
            ("zot ext dev ./notes", "try it by hand"),
            ("zot ext dev ./notes --filter ui.ask,tool_call", "show tool calls and questions"),
            ('zot ext dev ./notes "count the words of a.txt" -- --model ID', "run a prompt at every change"),
        ),
        intro="Run an extension while you write it: show its frames and stderr, restart it at every change.",
    ),
    Verb(
        "ext check",
        "PATH",
        "test an extension against every protocol rule",
        (
            Switch("--only", "check only these rules, separated by commas", "RULES"),
            Switch("--list", "list all rules; PATH is not needed"),
            Switch("--timeout", "limit for one tool call", "SECONDS"),
            Switch("--features", "remove these features of zot one by one, or all", "LIST"),
            Switch("--deny", "also run without these words of `uses`", "WORDS"),
            Switch("--modes", "also run in every mode: print, json, rpc, …"),
            _JSON,
        ),
        (DIR,),
        "It runs the extension, calls every command and tool, and gives it a scratch directory for its data. Exit "
        "status: 1 if a rule is broken. See `zot docs checking-extensions` and `zot docs rules`.",
        for_authors=True,
        examples=(("zot ext check ./notes", "report every broken rule"),),
    ),
    Verb(
        "ext trace",
        "[NAME|PATH|FILE]",
        "show the frames an extension sends and receives",
        (
            Switch("--follow", "show frames while --ext-trace writes them to FILE", "FILE", FILE),
            Switch("--json", "print frames as JSON lines"),
        ),
        (EXTENSION,),
        "NAME or PATH: zot starts the extension; type /command args, tool {…} or a raw frame. FILE: written by "
        "--ext-trace or --record.",
        for_authors=True,
        examples=(
            ("zot ext trace ./notes", "start it and type frames"),
            ("zot ext trace frames.jsonl", "show a file that --ext-trace wrote"),
        ),
    ),
    Verb(
        "ext replay",
        "FILE PATH",
        "replay a recorded host, report the first difference",
        (
            Switch("--extension", "extension in the recording (default: its name)", "NAME", EXTENSION),
            Switch("--timeout", "limit for one frame", "SECONDS"),
            Switch("--exact", "compare every byte, also values that differ in each run"),
        ),
        (FILE, DIR),
        for_authors=True,
        examples=(("zot ext replay run.zotrec ./notes", "compare ./notes with a recorded run"),),
    ),
    Verb(
        "local",
        "[COMMAND]",
        "run a model on this machine, without key, account or network",
        more="`zot --provider local` starts the server when needed. All your zot processes share it, and it stops with "
        "the last one. See `zot docs local-model`.",
        intro="Run a small model on this machine, to try zot or make small edits without key, account or network.",
        examples=(
            ("zot local install", "download the model that fits this machine"),
            ("zot --provider local", "chat with it"),
            ("zot local status", "show its server, memory and users"),
        ),
    ),
    Verb(
        "local install",
        "[MODEL]",
        "download small (0.5 GB) or medium (1.1 GB), or use a GGUF file",
        kinds=(("small", "medium"),),
        more="Without MODEL: medium if 4 GB of memory are free, else small. Weights come from their publisher or the "
        "next available source and must match the pinned SHA-256. An interrupted download continues.",
        examples=(
            ("zot local install small", "download the small model"),
            ("zot local install ~/models/model.gguf", "use a file you have"),
        ),
    ),
    Verb("local list", "", "list models and whether they are installed (default)", (_JSON,)),
    Verb("local remove", "MODEL…", "delete weights from the cache", kinds=(INSTALLED,)),
    Verb(
        "local serve",
        "[MODEL]",
        "run the server in the foreground, also for other programs",
        kinds=(INSTALLED,),
        more="MODEL: name in `zot local list`, or path of a GGUF file. It prints its address and the file with its "
        "key, and accepts OpenAI and Anthropic requests. A running server is used, and runs at least until "
        "you stop this command.",
    ),
    Verb("local status", "", "show running servers: process, address, memory, users", (_JSON,)),
    Verb(
        "docs",
        "[TOPIC]",
        "read the manual offline",
        kinds=(TOPIC,),
        more="Without TOPIC: table of contents. TOPIC#PART: one section of a page.",
        intro="Read the manual in the terminal, offline.",
        examples=(
            ("zot docs", "list all pages"),
            ("zot docs mcp", "read one page"),
            ("zot docs command-line | grep jail", "search a page"),
        ),
    ),
    Verb(
        "completions",
        "SHELL",
        "print a completion script for bash, zsh or fish",
        kinds=(SHELLS,),
        intro="Print a script that completes commands, flags and names in your shell; load it once per shell.",
        examples=(
            ('eval "$(zot completions bash)"', "add this line to ~/.bashrc"),
            ('eval "$(zot completions zsh)"', "add this line to ~/.zshrc"),
            ("zot completions fish > ~/.config/fish/completions/zot.fish", "run this once"),
        ),
    ),
    Verb(
        "cost",
        "[SESSION]",
        "show what was spent, by model, day and project",
        (
            Switch("--since", "7d, 2w, 6mo, a date such as 2026-11-01, or all (default: 30d)", "WHEN"),
            Switch("--by", "show one table: model, day or project", "WHAT", ("model", "day", "project")),
            Switch("--explain", "one session turn by turn: sent, cached, price without cache"),
            _JSON,
        ),
        (SESSION,),
        "It adds up all sessions, and from the daily ledgers the runs without a session and deleted sessions. A fork "
        "counts only its own messages.\nSESSION, with --explain: number in `zot sessions`, id prefix or file (default: "
        "the newest here). See `zot docs spend-less`.",
        intro="Show what was spent by model, day and project, or why one session cost what it did.",
        examples=(
            ("zot cost", "the last 30 days"),
            ("zot cost --since 7d --by project", "this week by project"),
            ("zot cost --explain", "the newest session, turn by turn"),
        ),
    ),
    Verb(
        "doctor",
        "",
        "check the installation and explain problems",
        (Switch("--json", "print JSON: ok, facts, extensions, notes, problems"),),
        more="It starts your own and trusted extensions briefly and lists untrusted ones. It opens no connection and "
        "changes no setting. Exit status: 1 if there is a problem.",
        intro="Check this installation and explain each problem; run it when something does not work.",
        examples=(
            ("zot doctor", "check everything"),
            ("zot doctor --json", "report for a program"),
            ("zot doctor > doctor.txt", "save it for a bug report"),
        ),
    ),
    Verb(
        "jail",
        "-- COMMAND",
        "run a command confined to this directory",
        (
            Switch("--net", "allow the network"),
            Switch("--read", "also allow reading this directory (repeatable)", "DIR", DIR, older="--jail-read"),
            Switch("--write", "also allow changing this directory (repeatable)", "DIR", DIR, older="--jail-write"),
            Switch(
                "--require",
                "refuse to run below this level: full, reduced",
                "LEVEL",
                ("full", "reduced"),
                older="--require-jail --jail-level --level",
            ),
            Switch("--check", "show the level this machine supports, and exit"),
        ),
        (TEXT,),
        "The command can write here and in a private home and /tmp, and read the system. Exit status: the command's, "
        "or 126 if the jail failed. See `zot docs jail`.",
        intro="Run a command confined to this directory, enforced by the operating system, to try code you do not "
        "trust.",
        examples=(
            ("zot jail -- make test", "run the tests without network"),
            ("zot jail --net -- npm install", "allow the network"),
            ("zot jail --check", "show the level this machine supports"),
        ),
    ),
    Verb(
        "replay",
        "FILE [OUT]",
        "replay a run that --record wrote, or run it again and compare",
        (
            Switch("--speed", "N times the original speed (default: 1)", "N"),
            Switch("--fast", "show it without pauses"),
            Switch("--step", "one step at a time: Enter for the next, q and Enter to quit"),
            Switch("--verify", "run it again; exit status 1 at the first difference"),
            Switch("--live-tools", "with --verify: run the tools for real in this directory"),
            Switch("--live-extensions", "with --verify: run installed and trusted extensions for real"),
            Switch("--ext", "with --live-extensions: also run this extension (repeatable)", "PATH", DIR),
            Switch("--jail", "with --live-tools: confine them to this directory"),
            Switch("--to-script", "write its model answers to OUT, for --script"),
        ),
        (FILE, FILE),
        "--verify uses the recorded model, tools, user and extensions, never the network, and compares requests, "
        "calls, frames and events. See `zot docs recordings`.",
        intro="Show a run that `zot --record FILE` wrote, or run it again and compare, to debug or test it.",
        examples=(
            ("zot replay run.zotrec", "show it at its original speed"),
            ("zot replay run.zotrec --verify", "run it again and compare"),
            ("zot replay run.zotrec --to-script answers.json", "play its answers without a model"),
        ),
    ),
    Verb(
        "report",
        "[SESSION]",
        "bundle a redacted session for a bug report",
        (
            Switch("--recording", "bundle a recording, which can be verified, instead", "FILE", FILE),
            Switch("--out", "file to write (default: zot-report-….zotrec here)", "FILE", FILE),
            _CWD,
        ),
        (SESSION,),
        f"{_SESSION}\nNothing is sent. Review the file with `zot replay FILE` before you attach it.",
        intro="Bundle a session for a bug report: redacted, with version, platform and settings.",
        examples=(
            ("zot report", "bundle the newest session"),
            ("zot report 2 --out bug.zotrec", "bundle another one"),
            ("zot report --recording run.zotrec", "bundle a recording of --record"),
        ),
    ),
    Verb(
        "update",
        "",
        "check for a newer version and show how to install it",
        (Switch("--check", "exit with status 10 if there is one, 0 if not"),),
        more="The setting `update_url` names the feed. Without it zot contacts no server and prints only the install "
        "command.",
        intro="Check for a newer version and print the command that installs it.",
        examples=(
            ("zot update", "show the newest version and the command"),
            ("zot update --check", "exit status 10 if there is one"),
            ("zot update --check; [ $? = 10 ] && echo newer", "use it in a script"),
        ),
    ),
)

_BY_PATH = {verb.path: verb for verb in VERBS} | {
    f"{verb.path.split()[0]} {alias}": verb for verb in VERBS for alias in verb.aliases
}


def verb_of(path: str) -> Verb | None:
    """The row of ``sessions fork`` or ``ext rm``, if it exists."""
    return _BY_PATH.get(path)


def subcommands(path: str) -> list[Verb]:
    """The commands of ``sessions`` or ``ext``; the verbs of zot for an empty path."""
    depth = len(path.split()) + 1
    return [verb for verb in VERBS if len(verb.path.split()) == depth and verb.path.startswith(path)]


def options(path: str) -> Mapping[str, bool]:
    """Each name of a switch and whether it takes a value, for ``arguments.parse``."""
    return {name: bool(switch.value) for switch in _BY_PATH[path].switches for name in (*switch.names, *switch.older)}
