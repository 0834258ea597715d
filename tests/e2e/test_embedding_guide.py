"""The code of the embedding guide runs unchanged."""

from __future__ import annotations

import re
import subprocess
import sys
import textwrap
from collections.abc import Callable
from pathlib import Path

from tests.e2e.conftest import Zot
from tests.e2e.test_rpc_examples import use_server
from tests.fakes.model_server import CallTools, FakeModelServer, Say

ROOT = Path(__file__).parents[2]
GUIDE = (ROOT / "docs/guides/embedding.md").read_text(encoding="utf-8")
Serve = Callable[..., FakeModelServer]


def snippets(language: str) -> list[str]:
    return re.findall(rf"```{language}\n(.*?)```", GUIDE, re.DOTALL)


def run(zot: Zot, code: str) -> str:
    argv = [sys.executable, "-c", code]
    done = subprocess.run(argv, cwd=zot.project, env=use_server(zot), capture_output=True, text=True, timeout=60)
    assert done.returncode == 0, done.stderr
    return done.stdout


def in_main(code: str) -> str:
    return "import asyncio\nasync def main():\n" + textwrap.indent(code, "    ") + "\nasyncio.run(main())"


def test_the_first_program_is_complete(serve: Serve, zot: Zot) -> None:
    serve([CallTools([("multiply", {"a": 6, "b": 7})]), Say("It is 42.")])
    assert run(zot, snippets("python")[0]).startswith("[multiply {'a': 6, 'b': 7}]\nIt is 42.\n$0.0")


def test_the_program_of_the_readme_is_complete(serve: Serve, zot: Zot) -> None:
    programs = re.findall(r"```python\n(.*?)```", (ROOT / "README.md").read_text(encoding="utf-8"), re.DOTALL)
    (program,) = [each for each in programs if "zot.sdk" in each]
    serve([CallTools([("multiply", {"a": 6, "b": 7})]), Say("It is 42.")])
    assert run(zot, program) == "It is 42."


def test_asking_and_interceptors_work_as_shown(serve: Serve, zot: Zot) -> None:
    serve([CallTools([("bash", {"command": "sudo id"})]), Say("a secret")])
    ask, _, interceptors = snippets("python")[1:4]
    body = f"{interceptors}\nfrom zot.sdk import Runtime\nasync with Runtime(interceptors=interceptors) as zot:\n"
    body += f"    {ask}    print(answer, zot.messages()[2].content[0].content[0].text)"
    assert run(zot, in_main(body)) == "a … sudo is not allowed here\n"


def test_an_answer_that_is_a_value_works_as_shown(serve: Serve, zot: Zot) -> None:
    serve(
        [
            Say('[{"file": "a.py", "line": 3, "cause": "unknown"}]'),
            Say('[{"file": "a.py", "line": 3, "cause": "code"}]'),
        ]
    )
    kind, _, ask = snippets("python")[2].partition("\n\n\n")
    head = "from dataclasses import dataclass\nfrom typing import Literal\nfrom zot.sdk import Runtime\n"
    body = f"async with Runtime() as zot:\n    {ask}    print(failures[0].line, failures[0].cause)"
    assert run(zot, f"{head}{kind}\n{in_main(body)}") == "3 code\n"


def test_the_client_works_as_shown(serve: Serve, zot: Zot) -> None:
    (zot.project / "my/project").mkdir(parents=True)
    serve([Say("A project.")])
    assert run(zot, in_main(snippets("python")[4])) == "A project."


def test_the_typescript_works_as_shown(serve: Serve, zot: Zot) -> None:
    (zot.project / "my/project").mkdir(parents=True)
    serve([Say("A project.")])
    package = zot.project / "node_modules/zot-ext"
    package.parent.mkdir()
    package.symlink_to(ROOT / "sdks/typescript")
    (zot.project / "main.mts").write_text(snippets("ts")[0])
    env = use_server(zot)
    modules = ROOT / "sdks/typescript/node_modules"
    types = ["--noEmit", "--strict", "--module", "nodenext", "--types", "node", "--typeRoots", str(modules / "@types")]
    checked = subprocess.run(
        [str(modules / ".bin/tsc"), *types, "main.mts"], cwd=zot.project, env=env, capture_output=True, text=True
    )
    assert checked.returncode == 0, checked.stdout
    argv = [str(modules / ".bin/tsx"), "main.mts"]
    done = subprocess.run(argv, cwd=zot.project, env=env, capture_output=True, text=True, timeout=60)
    assert (done.stdout, done.returncode) == ("A project.", 0), done.stderr


def test_the_go_works_as_shown(serve: Serve, zot: Zot) -> None:
    (zot.project / "my/project").mkdir(parents=True)
    serve([Say("A project.")])
    code = snippets("go")[0].replace("{ … }", "{ panic(err) }")
    head = 'package main\n\nimport (\n"context"\n"fmt"\n"github.com/zot-agent/zot/sdks/go/client"\n)\n'
    (zot.project / "main.go").write_text(f"{head}func main() {{\nctx := context.Background()\n{code}}}\n")
    module = "github.com/zot-agent/zot/sdks/go"
    (zot.project / "go.mod").write_text(
        f"module guide\n\ngo 1.22\n\nrequire {module} v0.0.0\n\nreplace {module} => {ROOT / 'sdks/go'}\n"
    )
    cache = subprocess.run(["go", "env", "GOCACHE"], capture_output=True, text=True, check=True).stdout.strip()
    env = use_server(zot) | {"GOFLAGS": "-mod=mod", "GOPROXY": "off", "GOCACHE": cache}
    argv = ["go", "run", "."]
    done = subprocess.run(argv, cwd=zot.project, env=env, capture_output=True, text=True, timeout=120)
    assert (done.stdout, done.returncode) == ("A project.", 0), done.stderr
