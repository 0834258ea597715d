"""Guards fail closed: a declared guard that cannot answer, for whatever reason, has answered no.

Everybody else who fails to answer is passed over, as extensions always were.
"""

from __future__ import annotations

import msgspec

from zot.agent.extensions.child import Child
from zot.agent.extensions.discover import LoadProblem

_STATES = {
    "waiting": "has not been started",
    "starting": "has not said hello yet",
    "greeting": "is not ready yet",
    "stopping": "is being stopped",
    "gone": "is not running",
    "restarting": "crashed and is being restarted",
}


class MissingGuard(msgspec.Struct, frozen=True):
    """A guard, by its manifest or by what was known of it, that could not be loaded at all."""

    problem: LoadProblem

    def reason(self) -> str:
        problem = self.problem
        return f"refused: the guard in {problem.directory} could not be loaded ({problem.reason}); {problem.fix}"


def absent(guard: Child) -> str:
    """Why a guard cannot be asked now, or "" when it can."""
    if guard.state == "ready":
        return ""
    return refusal(guard, _STATES[guard.state])


def refusal(guard: Child, fault: str) -> str:
    """The reason a model and a user read."""
    log = f"; its log: {guard.log.path}" if guard.log.path else ""
    return f"refused: the guard {guard.name} {fault}{log}"
