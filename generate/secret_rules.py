"""``python -m generate.secret_rules GITLEAKS SAMPLES``: converts the rules of gitleaks for redaction.
GITLEAKS is the directory of a release (module ``github.com/zricethezav/gitleaks/v8``), SAMPLES a file of JSON lines
``{"id", "tps"}`` with the samples of each rule, as its ``cmd/generate/config`` validates them. Run it by hand for a new
release; the result is committed, because the release is not available where zot is built."""

from __future__ import annotations

import gzip
import json
import re
import sys
import tomllib
from pathlib import Path
from typing import Any

ROOT = Path(__file__).parent.parent
RULES = ROOT / "src/zot/features/export/secret_rules.json"
TEST_SAMPLES = ROOT / "tests/unit/features/export/secret_samples.json.gz"
_SAMPLES_PER_RULE = 6
_MOST = 1000  # characters of an unbounded part: matching stays linear
_CONTEXT = r"[\w.-]{0,50}?"  # text before an identifier, which redaction does not need
_END = r"""(?:[\x60'"\s;]|\\[nr]|$)"""
_WIDER_END = r"""(?=[\x60'"\s;,.:&<>(){}\[\]|\\@#?!*/%]|$)"""  # secrets also occur in prose, URLs and markup
_GENERIC = "generic-api-key"
_SKIPPED = {
    "private-key": "zot has its own pattern, which is linear",
    "pkcs12-file": "it matches file names",
}
_KEYWORDS = {"kubernetes-secret-yaml": ["kind:", "data:"]}  # the given one is a common word


def main() -> int:
    source, samples = Path(sys.argv[1]), Path(sys.argv[2])
    config = tomllib.loads((source / "config/gitleaks.toml").read_text(encoding="utf-8"))
    rows: list[dict[str, Any]] = [json.loads(line) for line in samples.read_text(encoding="utf-8").splitlines()]
    examples: dict[str, list[str]] = {row["id"]: row["tps"] or [] for row in rows}
    rules: list[dict[str, Any]] = []
    skipped = dict(_SKIPPED)
    for rule in config["rules"]:
        if rule["id"] in skipped:
            continue
        try:
            rules.append(_converted(rule, examples.get(rule["id"], [])))
        except re.error as error:
            skipped[rule["id"]] = f"not convertible: {error}"
    data = {
        "source": f"gitleaks {source.name.partition('@')[2]} (config/gitleaks.toml), converted to Python",
        "license": (source / "LICENSE").read_text(encoding="utf-8"),
        "skipped": skipped,
        "rules": rules,
    }
    RULES.write_text(json.dumps(data, indent=1, ensure_ascii=False) + "\n", encoding="utf-8")
    kept = {rule["id"]: sorted(examples.get(rule["id"], []))[:_SAMPLES_PER_RULE] for rule in rules}
    text = json.dumps({name: found for name, found in kept.items() if found})
    TEST_SAMPLES.write_bytes(gzip.compress(text.encode(), mtime=0))  # packed: scanners would report them
    print(f"{len(rules)} rules, skipped: {skipped}")
    return 0


def _converted(rule: dict[str, Any], examples: list[str]) -> dict[str, Any]:
    pattern = to_python(rule["regex"], widen=rule["id"] != _GENERIC)
    compiled = re.compile(pattern, re.ASCII)
    given: list[str] = _KEYWORDS.get(rule["id"]) or rule.get("keywords", [])
    keywords = sorted({word.lower() for word in _identifiers(pattern) or given})
    made: dict[str, Any] = {"id": rule["id"], "pattern": pattern, "keywords": keywords}
    if group := rule.get("secretGroup"):
        made["group"] = group
    if entropy := rule.get("entropy"):
        made["entropy"] = entropy
    if rule["id"] == _GENERIC:
        allowed = rule["allowlists"]
        made["stopwords"] = sorted({word for one in allowed for word in one.get("stopwords", ())})
    if _begins_with_keyword(compiled, keywords, examples):
        made["anchored"] = True
    return made


def _identifiers(pattern: str) -> list[str]:
    """The names at the beginning of a pattern of the form NAME = SECRET; empty for others or for names with syntax."""
    found = re.match(r"\(\?i:\(\?:([^()]*)\)\(\?:\[ ", pattern)
    names = found[1].split("|") if found else []
    return names if all(re.fullmatch(r"[\w-]{2,}", name) for name in names) else []


def _begins_with_keyword(pattern: re.Pattern[str], keywords: list[str], examples: list[str]) -> bool:
    """True if every sample is found when the pattern is tried only where a keyword begins."""

    def is_anchored(text: str) -> bool:
        lower = text.lower()
        starts = (match.start() for word in keywords for match in re.finditer(re.escape(word), lower))
        return any(pattern.match(text, start) for start in starts)

    return bool(examples) and all(is_anchored(text) for text in examples if pattern.search(text))


def to_python(pattern: str, *, widen: bool = True) -> str:
    """An RE2 pattern for ``re``: scoped flags, no unbounded repetition, a wider end of the secret."""
    pattern = pattern.replace(_CONTEXT, "")
    if widen:
        pattern = pattern.replace(_END, _WIDER_END)
    pattern = pattern.replace(r"\z", r"\Z").replace("[[:alnum:]]", "[A-Za-z0-9]")
    return _adapted(pattern)


def _adapted(pattern: str) -> str:
    """``(?i)`` applies to the rest of its group in RE2; ``re`` has ``(?i:…)`` for that. Repetitions get a limit."""
    made: list[str] = []
    opened = [0]  # flag groups to close, per group
    at, in_class = 0, False
    while at < len(pattern):
        piece = pattern[at]
        if piece == "\\":
            piece = pattern[at : at + 2]
        elif in_class:
            in_class = piece != "]"
        elif piece == "[":
            in_class = True
        elif pattern.startswith("(?i)", at):
            opened[-1] += 1
            made.append("(?i:")
            at += 4
            continue
        elif piece in "*+":
            most = _MOST // 5 if made[-1] == "." else _MOST
            made.append(f"{{{int(piece == '+')},{most}}}")
            at += 1
            continue
        elif found := re.compile(r"\{(\d+),\}").match(pattern, at):
            made.append(f"{{{found[1]},{max(_MOST, int(found[1]) * 2)}}}")
            at = found.end()
            continue
        elif piece == "(":
            opened.append(0)
        elif piece == ")":
            piece = ")" * (opened.pop() + 1)
        made.append(piece)
        at += len(piece) if piece[0] in "\\" else 1
    return "".join(made) + ")" * opened[0]


if __name__ == "__main__":
    sys.exit(main())
