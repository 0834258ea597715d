"""issue 34: the addresses of ``zot serve``: files of the page, sessions, theme, devices."""

from __future__ import annotations

import gzip
import json
from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from typing import Any

import pytest

from tests.fakes.served import Served
from tests.fakes.zot_process import Zot
from zot.frontends.serve.static_files import FILES, StaticFiles
from zot.provider.http.incoming import IncomingRequest


@pytest.fixture
def server(zot: Zot, tmp_path: Path) -> Iterator[Served]:
    script = tmp_path / "script.json"
    script.write_text(json.dumps({"turns": [{"text": "A pelican is a bird."}], "repeat": True}))
    with Served(zot, "--provider", "script", "--script", str(script)) as found:
        yield found


def _get(server: Served, path: str, method: str = "GET", body: Any = None) -> tuple[int, dict[str, str], str]:
    headers = {"authorization": f"Bearer {server.device()}"}
    if body is not None:
        headers["content-type"] = "application/json"
    return server.request(method, path, None if body is None else json.dumps(body), headers)


def _listed(server: Served, query: str = "") -> dict[str, Any]:
    status, _, text = _get(server, f"/sessions{query}")
    assert status == 200, text
    return json.loads(text)


def _talk(server: Served, *prompts: str, **query: Any) -> str:
    """A new conversation with these prompts; its name."""
    with server.client(**query) as client:
        for prompt in prompts:
            client.ask("prompt", message=prompt)
            client.until("done")
        return client.welcome["conversation"]


# --- sessions


def test_sessions_are_listed_newest_first(server: Served, zot: Zot) -> None:
    names = [_talk(server, f"number {number}") for number in range(3)]
    listed = _listed(server)["sessions"]
    assert [each["conversation"] for each in listed] == names[::-1]
    first = listed[0]
    assert first["title"] == "number 2" and first["cwd"] == str(zot.project) and first["running"]
    assert first["messages"] == 2 and first["updated"].endswith("Z") and first["parent"] == ""


def test_session_list_goes_on_after_the_last_one(server: Served) -> None:
    names = [_talk(server, f"number {number}") for number in range(3)]
    first = _listed(server, "?limit=2")
    rest = _listed(server, f"?limit=2&after={first['after']}")
    assert first["more"] and not rest["more"]
    assert [each["conversation"] for each in first["sessions"] + rest["sessions"]] == names[::-1]


def test_session_search_finds_words_and_shows_where(server: Served) -> None:
    name = _talk(server, "what is a heron")
    _talk(server, "what is a stork")
    found = _listed(server, "?search=HERON")["sessions"]
    assert [each["conversation"] for each in found] == [name] and "heron" in found[0]["snippet"]
    assert _listed(server, "?search=ostrich")["sessions"] == []


def test_sessions_of_a_directory(server: Served, tmp_path: Path) -> None:
    other = tmp_path / "other"
    other.mkdir()
    _talk(server, "here")
    name = _talk(server, "there", directory=other)
    assert [each["conversation"] for each in _listed(server, f"?directory={other}")["sessions"]] == [name]


@pytest.mark.parametrize("query", ["limit=0", "limit=201", "limit=x", "limit=-1", "limit=1e9", "after=nothing"])
def test_session_list_refuses_wrong_values(server: Served, query: str) -> None:
    assert _get(server, f"/sessions?{query}")[0] == 400


def test_fork_keeps_the_first_messages(server: Served) -> None:
    name = _talk(server, "first", "second")
    status, _, text = _get(server, f"/sessions/{name}/fork", "POST", {"messages": 2})
    assert status == 200, text
    fork = json.loads(text)["conversation"]
    with server.client(fork) as client:
        assert len(client.ask("get_messages")["data"]["messages"]) == 2
    whole = json.loads(_get(server, f"/sessions/{name}/fork", "POST", {})[2])["conversation"]
    with server.client(whole) as client:
        assert len(client.ask("get_messages")["data"]["messages"]) == 4
    listed = {each["conversation"]: each for each in _listed(server)["sessions"]}
    assert listed[fork]["parent"] == listed[name]["id"]


def test_session_is_named_by_its_id_too(server: Served) -> None:
    name = _talk(server, "first")
    id = _listed(server)["sessions"][0]["id"]
    status, headers, _ = _get(server, f"/sessions/{id}/export?format=markdown")
    assert status == 200 and headers["content-disposition"] == f'attachment; filename="zot-{id}.md"'
    assert json.loads(_get(server, f"/sessions/{id[:8]}/fork", "POST", {})[2])["conversation"] != name
    assert _get(server, "/sessions/deadbeef/export")[0] == 404


def test_listing_goes_on_beside_a_search(server: Served) -> None:
    names = {_talk(server, f"number {number}") for number in range(3)}
    with ThreadPoolExecutor(12) as threads:
        asked = [threads.submit(_listed, server, "?search=nothing" if number % 2 else "") for number in range(12)]
        lists = [each.result()["sessions"] for each in asked[::2]]
    assert all({each["conversation"] for each in found} == names for found in lists)


def test_fork_refuses_wrong_counts(server: Served) -> None:
    name = _talk(server, "first")
    for wrong in ({"messages": -1}, {"messages": "2"}, {"messages": 99}, [], 7):
        assert _get(server, f"/sessions/{name}/fork", "POST", wrong)[0] == 400
    assert server.request("POST", f"/sessions/{name}/fork", "{}", {"authorization": f"Bearer {server.key}"})[0] == 415


def test_export_is_a_file_without_words_in_its_name(server: Served) -> None:
    name = _talk(server, 'x"\r\nSet-Cookie: a=b <script>alert(1)</script>')
    status, headers, text = _get(server, f"/sessions/{name}/export?format=html")
    assert status == 200 and headers["content-disposition"] == f'attachment; filename="zot-{name}.html"'
    assert "pelican" in text and "<script>" not in text and "set-cookie" not in headers
    status, headers, text = _get(server, f"/sessions/{name}/export?format=markdown")
    assert headers["content-type"] == "text/markdown; charset=utf-8" and "pelican" in text
    assert _get(server, f"/sessions/{name}/export?format=zotsession")[0] == 400


def test_session_linked_from_elsewhere_is_not_found(server: Served, zot: Zot, tmp_path: Path) -> None:
    name = _talk(server, "secret")
    store = zot.home / "zot" / "sessions"
    real = next(store.glob(f"*/{name}.jsonl"))
    moved = real.rename(tmp_path / "elsewhere.jsonl")
    real.symlink_to(moved)
    assert _get(server, f"/sessions/{name}/export?format=html")[0] == 404
    assert _get(server, f"/sessions/{name}/fork", "POST", {})[0] == 404


# --- conversations, devices, theme


def test_conversations_say_what_they_do(server: Served, zot: Zot) -> None:
    with server.client() as client:
        client.ask("prompt", message="go")
        client.until("done")
        answer = json.loads(_get(server, "/conversations")[2])
        assert answer["directory"] == str(zot.project) and answer["version"]
        [found] = answer["conversations"]
        assert found["busy"] is False and found["waiting"] == 0 and found["title"] == "go"


def test_device_that_forgets_itself_is_out(server: Served, zot: Zot) -> None:
    with server.client() as client:
        status, _, text = _get(server, "/device", "DELETE")
        assert status == 200 and json.loads(text) == {"name": "laptop"}
        assert _get(server, "/conversations")[0] == 401
        with pytest.raises(Exception, match="revoked"):
            client.until("never")
    assert "no devices" in zot("serve", "devices", model=False).err


def test_device_list_shows_the_address(server: Served, zot: Zot) -> None:
    server.device()
    assert "127.0.0.1" in zot("serve", "devices", model=False).out


def test_theme_follows_the_setting_and_falls_back(server: Served, zot: Zot) -> None:
    theme = json.loads(server.request("GET", "/theme")[2])
    assert theme["dark"]["accent"] != theme["light"]["accent"]
    assert all(value.startswith("#") and len(value) == 7 for side in theme.values() for value in side.values())
    themes = zot.home / "zot" / "themes"
    themes.mkdir(parents=True)
    (themes / "mine.json").write_text(json.dumps({"base": "dark", "colors": {"accent": "#123456"}}))
    (zot.home / "zot" / "config.json").write_text('{"theme": "mine"}')
    changed = json.loads(server.request("GET", "/theme")[2])
    assert changed["dark"]["accent"] == "#123456" and changed["light"] == theme["light"]


def test_each_address_takes_its_methods_only(server: Served) -> None:
    for path in (*FILES, "/theme", "/sessions", "/conversations", "/device"):
        assert _get(server, path, "PUT")[0] == 405
    assert _get(server, "/device", "PUT")[1]["allow"] == "POST, DELETE"


# --- files of the page


@pytest.fixture
def files(tmp_path: Path) -> StaticFiles:
    (tmp_path / "page.html").write_text("<!doctype html>")
    (tmp_path / "secret.txt").write_text("secret")
    return StaticFiles(tmp_path)


def _file(files: StaticFiles, path: str = "/", **headers: str) -> tuple[str, dict[bytes, bytes], bytes]:
    found = files.answer(IncomingRequest("GET", path, {}, {k.replace("_", "-"): v for k, v in headers.items()}))
    assert found is not None
    head, _, body = found.partition(b"\r\n\r\n")
    pairs = (line.partition(b": ") for line in head.split(b"\r\n")[1:])
    return head.decode(), {name: value for name, _, value in pairs}, body


def test_page_file_has_a_tag_and_is_compressed(files: StaticFiles, tmp_path: Path) -> None:
    head, lines, body = _file(files)
    assert body == b"<!doctype html>" and lines[b"Cache-Control"] == b"no-cache" and "200 OK" in head
    assert b"script-src 'self'" in lines[b"Content-Security-Policy"]
    packed = _file(files, accept_encoding="br, gzip;q=0.8")
    assert gzip.decompress(packed[2]) == body and packed[1][b"Content-Encoding"] == b"gzip"
    tag = lines[b"ETag"].decode()
    assert "304" in _file(files, if_none_match=f'"x", {tag}')[0]
    (tmp_path / "page.html").write_text("<!doctype html>new")
    head, lines, body = _file(files, if_none_match=tag)
    assert "200" in head and body.endswith(b"new")


def test_missing_page_file_is_reported(files: StaticFiles, tmp_path: Path, server: Served) -> None:
    assert files.answer(IncomingRequest("GET", "/page.css", {}, {})) is None
    (tmp_path / "page.html").unlink()
    assert b"This installation has no page" in _file(files)[2]
    for path in ("/secret.txt", "/page/page.js", "/page.js/", "//page.js", "/%2e%2e/serve.json", "/../access.py"):
        assert server.request("GET", path)[0] == 404
