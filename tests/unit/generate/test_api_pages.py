"""The API pages name everything that other tools find exported."""

from __future__ import annotations

import re
import subprocess
from importlib import import_module
from pathlib import Path

import pytest

ROOT = Path(__file__).parents[3]
REFERENCE = ROOT / "docs/reference"


@pytest.mark.parametrize(
    ("door", "page"),
    [("zot.sdk", "python-sdk.md"), ("zot.client", "python-client.md"), ("zot.ext", "python-extensions.md")],
)
def test_public_python_name_has_heading_and_text(door: str, page: str) -> None:
    text = (REFERENCE / page).read_text(encoding="utf-8")
    for name in import_module(door).__all__:
        _, _, rest = text.partition(f"\n## {name}\n")
        assert rest, name
        assert rest.partition("\n## ")[0].strip(), name


def test_every_declaration_typescript_exports_is_on_the_page() -> None:
    """The oracle is the compiler's declaration output."""
    text = (REFERENCE / "typescript-sdk.md").read_text(encoding="utf-8")
    for module in ("extension", "handlers", "answers", "client", "client-error"):
        declared = (ROOT / f"sdks/typescript/dist/{module}.d.ts").read_text(encoding="utf-8")
        for kind, name in re.findall(r"^export (?:declare )?(?:abstract )?(\w+) (\w+)", declared, re.MULTILINE):
            if kind in ("class", "interface", "type", "function", "const"):
                assert f"### {name}\n" in text, name
        for method in re.findall(r"^    (?!#|private|constructor)(?:get |readonly )?(\w+)[<(]", declared, re.MULTILINE):
            assert re.search(rf"\b{method}[<(]", text), method


@pytest.mark.parametrize("package", [".", "./client"])
def test_every_function_and_type_go_documents_is_on_the_page(package: str) -> None:
    """The oracle is ``go doc``."""
    text = (REFERENCE / "go-sdk.md").read_text(encoding="utf-8")
    listed = subprocess.run(
        ["go", "doc", "-all", package], cwd=ROOT / "sdks/go", capture_output=True, text=True, check=True
    )
    wire = (ROOT / "sdks/go/client/wire.go").read_text(encoding="utf-8")
    for name in re.findall(r"^func (?:\(.*?\) )?([A-Z]\w*)|^type ([A-Z]\w*)", listed.stdout, re.MULTILINE):
        found = name[0] or name[1]
        if not re.search(rf"\b{found}\b", wire) and found != "Version":
            assert re.search(rf"\b{found}\b", text), found
