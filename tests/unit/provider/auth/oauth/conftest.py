"""One OAuth server for each file of tests; every test begins with its knobs as they were."""

from __future__ import annotations

from collections.abc import Iterator

import pytest

from tests.fakes.oauth_server import OAuthServer, oauth_server


@pytest.fixture(scope="module")
def running() -> Iterator[OAuthServer]:
    with oauth_server() as server:
        yield server


@pytest.fixture
def server(running: OAuthServer) -> OAuthServer:
    running.knobs(reset=True)
    return running
