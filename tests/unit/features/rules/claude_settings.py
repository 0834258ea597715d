"""Contents of ``permissions`` in Claude Code's settings files, in the shapes that public repositories have.
Each: the lists, other keys, and the rules and keys that zot must name because it cannot apply them."""

from __future__ import annotations

from typing import Any, NamedTuple


class Shape(NamedTuple):
    permissions: dict[str, Any]
    named: tuple[str, ...] = ()
    strict: bool = False
    """Every call requires approval, because a rule that should deny or ask cannot be applied."""


SHAPES = [
    Shape({"allow": []}),
    Shape({"allow": ["Bash(npm install:*)", "Bash(npm run build:*)", "Bash(pwd)", "WebFetch(domain:github.com)"]}),
    Shape({"allow": ["Read", "Glob", "Grep", "Edit", "Write", "TodoWrite", "Task", "mcp__acd", "mcp__vercel-mcp"]}),
    Shape({"allow": ["Bash(git add *)", "Bash(git commit -m ' *)", "Bash(node -e ' *)", "Read(//tmp/**)"]}),
    Shape({"allow": ["Bash(gradlew.bat desktop:debug:*)", "Bash(./gradlew:*)"], "deny": [], "ask": []}),
    Shape({"allow": ["Bash(tsc --noEmit)"], "defaultMode": "bypassPermissions"}, ("defaultMode",)),
    Shape({"allow": ["Bash(if:*)", 'Bash(then echo "x")', "Bash(else echo:*)", "Bash(fi)", "Bash(test:*)"]}),
    Shape({"allow": ['Bash("D:\\\\nvm\\\\node.exe":*)', 'Bash("/mnt/c/Program Files/x.exe" /out "a.ahk")']}),
    Shape({"allow": ["SlashCommand(/orchestrator)", "PowerShell(Remove-Item *)"]}, ("SlashCommand", "PowerShell")),
    Shape({"allow": ["*", "Bash(npx vitest:*)", "Read(//c/Users/me/$APPDATA/**)"]}, ("*",)),
    Shape({"allow": ["Read(**)", "WebSearch", "WebFetch", "Bash(command *)", "Bash(adb shell *)"]}),
    Shape({"allow": ["Grep"], "allowFileAccess": True, "allowShellAccess": True}, ("allowFileAccess",)),
    Shape({"deny": ["Read(./.env)", "Read(./.env.*)", "Read(./data/**)", "Bash(rm -rf data)", "Write(./.env)"]}),
    Shape({"deny": ["Read(**/.env)", "Read(**/.ssh/**)", "Bash(curl:*)", "Bash(wget:*)"]}),
    Shape({"deny": ["Bash(rm -rf /:*)", "Bash(git push --force:*)", "Read(./**/*.pem)"], "allow": ["Bash(git log:*)"]}),
    Shape({"allow": ["// Git", "Bash(git:*)", "// Packages", "Bash(npm:*)"], "deny": ["// none"]}),
    Shape({"additionalDirectories": ["~", "/tmp"], "defaultMode": "dontAsk"}, ("additionalDirectories", "defaultMode")),
    Shape({"allow": ["Bash(*)", "Edit(*)", "Write(*)"]}),
    Shape({"allow": [], "deny": ["Bash(*)", "Write(*)", "Edit(*):!*.md"]}, ("Edit(*):!*.md",), strict=True),
    Shape({"allow": ["Bash(safe-find:_)"], "deny": ["Bash(find:_)", "Bash(fd:_)"]}),
    Shape({"allow": ["mcp__filesystem__*", "mcp__github__get_issue", "mcp__chrome-devtools"]}),
    Shape({"allow": ["mcp__ide__executeCode(x)"]}, ("mcp__ide__executeCode(x)",)),
    Shape({"allow": ["Skill(pdf)", "Skill(plugin:review)", "Agent(Explore)", "Task(Plan)"]}),
    Shape({"allow": ["WebFetch(domain:*.example.com)", "WebFetch(domain:docs.python.org)"]}),
    Shape({"allow": ["WebFetch(https://example.com/x)"]}, ("WebFetch(https://example.com/x)",)),
    Shape({"ask": ["Bash(git push:*)", "Bash(docker:*)"], "deny": ["Read(~/.aws/**)", "Edit(~/.zshrc)"]}),
    Shape({"allow": ["Bash(for f in *.py)", "Bash(do echo:*)", "Bash(done)", "Bash(while read line)"]}),
    Shape(
        {"allow": ["Bash(NODE_ENV=test npm run:*)", "Bash(PYTHONPATH=. python:*)"]}, ("NODE_ENV=test", "PYTHONPATH=.")
    ),
    Shape(
        {"allow": ['Bash(curl -s -X POST http://localhost:8000/x -H "A: b" -d \'{"a":"b"}\')', "Bash(__NEW_LINE__ x)"]}
    ),
    Shape({"allow": ["Bash(cat <<'EOF' > x)", 'Bash(python3 -c "import x; print\\(x\\)")', "Bash(xargs ls:*)"]}),
    Shape({"allow": ["Bash(find . -type f -name *.py ! -path */x/* -exec wc -l {} +)", "Bash(timeout 5 npm test:*)"]}),
    Shape({"allow": ["Edit(/docs/**)", "Edit(src/**/*.{ts,tsx})", "NotebookEdit", "MultiEdit(src/**)", "LS"]}, ("LS",)),
    Shape({"allow": ["Read(/Users/me/x/**)", "Read(~/.zshrc)", "Read(./[a-z]*.md)"]}),
    Shape(
        {"allow": ["ExitPlanMode", "BashOutput", "KillShell", "Bash(ls:*)"], "deny": ["NotebookRead"]},
        ("NotebookRead",),
    ),
    Shape({"deny": ["Read(.env", "Bash(sudo:*)"]}, ("Read(.env",), strict=True),
    Shape({"deny": ["read(.env)", "bash(sudo *)"], "allow": ["web_search", "grep"]}),
    Shape({"deny": [{"tool": "Bash", "command": "rm"}]}, ("expected text",), strict=True),
    Shape({"allow": "Bash(npm test)"}, ("cannot be read", "every call requires approval"), strict=True),
    Shape({"deny": None}, ("every call requires approval",), strict=True),
    Shape({"allow": ["", "   ", "Bash()"]}, ("expected Tool or Tool(pattern)",)),
    Shape(
        {"disableBypassPermissionsMode": "disable", "allow": ["Bash(git diff:*)"]}, ("disableBypassPermissionsMode",)
    ),
]
