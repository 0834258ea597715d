"""``zot doctor`` and ``zot docs``: offline, without a credential."""

from __future__ import annotations

from tests.e2e.conftest import Zot


def test_docs_prints_the_index_and_a_page(zot: Zot) -> None:
    """iface-315, engine-255: `zot docs` prints the index, and `zot docs first-steps` that page."""
    index = zot("docs")
    assert (index.code, index.err) == (0, "")
    assert "first-steps" in index.out
    page = zot("docs", "first-steps")
    assert page.code == 0
    assert page.out.startswith("# ")


def test_an_unknown_topic_names_the_topics(zot: Zot) -> None:
    """iface-315: an unknown topic exits 1 and names the topics there are."""
    ran = zot("docs", "nonsense")
    assert (ran.code, ran.out) == (1, "")
    assert "nonsense" in ran.err and "first-steps" in ran.err


def test_doctor_of_fresh_home_is_clean_and_creates_nothing(zot: Zot) -> None:
    ran = zot("doctor")
    assert (ran.code, ran.err) == (0, "")
    assert "no problems found" in ran.out
    assert not (zot.home / "zot").exists()


def test_doctor_lists_run_problems_without_secrets(zot: Zot) -> None:
    """iface-278: doctor lists every problem a run would report, and no secret."""
    home = zot.home / "zot"
    home.mkdir()
    (home / "config.json").write_text('{"max": tru')
    (home / "models.json").write_text("[]")
    zot.environment["OPENAI_API_KEY"] = "SECRET-VALUE"
    ran = zot("doctor")
    assert ran.code == 1
    assert "config.json" in ran.out and "models.json" in ran.out and "openai (OPENAI_API_KEY)" in ran.out
    assert "SECRET-VALUE" not in ran.out
