"""Rules of the run that started a worker hold in the worker, also if the files change."""

from __future__ import annotations

from types import SimpleNamespace
from typing import Any, cast

from zot.agent.config import RunConfig
from zot.features.rules.feature import RulesFeature, add_required
from zot.features.rules.rule import read_rule
from zot.features.rules.rule_files import RuleSet


def config_for_worker(rules: RuleSet) -> RunConfig:
    feature = RulesFeature(cast("Any", SimpleNamespace(services=None)))
    feature.rules = rules
    return feature.for_worker(RunConfig())


def test_worker_has_deny_and_ask_rules_of_its_starter() -> None:
    """issue 32.5: nothing that allows is passed on."""
    deny, ask = read_rule("deny", "Bash(rm:*)", "f", "/p"), read_rule("ask", "Edit", "f", "/p")
    config = config_for_worker(RuleSet([deny, ask, read_rule("allow", "Bash", "f", "/p")]))
    found = RuleSet([deny])
    add_required(found, config.required_rules)
    assert found.rules == [deny, ask] and not found.wrong


def test_worker_is_as_strict_about_wrong_rules() -> None:
    found = RuleSet()
    add_required(found, config_for_worker(RuleSet(wrong=["f cannot be read"])).required_rules)
    add_required(found, ("no JSON",))
    assert found.wrong == ["f cannot be read", "the rules of the run that started this worker cannot be read"]
