"""Ray's exceptions, as far as zot uses them."""

from __future__ import annotations


class RayError(Exception):
    pass


class RayActorError(RayError):
    pass


class ActorDiedError(RayActorError):
    pass


class ActorUnavailableError(RayActorError):
    pass


class WorkerCrashedError(RayError):
    pass


class RayTaskError(RayError):
    def __init__(self, cause: BaseException) -> None:
        super().__init__(f"Traceback\n{type(cause).__name__}: {cause}")
        self.cause = cause
