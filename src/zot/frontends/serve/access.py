"""Who may use the server: tokens that work once, and the keys of devices. ``$ZOT_HOME/serve.json`` has hashes only.
The file is read each time it changed, so that a device that another zot revokes is cut off at once."""

from __future__ import annotations

import secrets
import time
from collections import deque
from contextlib import suppress
from hashlib import sha256
from hmac import compare_digest
from pathlib import Path

import msgspec

from zot.errors import ConfigError, NotThere, ZotError, closest_match
from zot.provider.messages import utc_now
from zot.system.json_store import JsonStore

FILE = "serve.json"
TOKEN_LIFE_S = 600.0
DEVICES_MAX = 50
_TOKENS_MAX = 20
_NAME_MAX = 40
_TRIES, _TRIES_S = 10, 60.0  # wrong tokens and keys of one address in this time, then none is tried
_ADDRESSES_MAX = 1_000
_ADVICE = "correct the file, or delete it: then every device needs a new address of `zot serve`"


class Device(msgspec.Struct, omit_defaults=True):
    name: str
    key_hash: str
    added: str = ""
    seen: str = ""
    address: str = ""  # where it was seen


class Invitation(msgspec.Struct):
    """A token that was shown; ``until`` is a Unix time."""

    token_hash: str
    until: float


class AccessFile(msgspec.Struct):
    """``port``, ``pid`` and ``beyond``, its address on a network, are of the latest server, which may have ended: its
    lock tells. ``fingerprint`` is that of its certificate."""

    port: int = 0
    pid: int = 0
    beyond: str = ""
    fingerprint: str = ""
    socket: str = ""  # for zots on this machine
    devices: list[Device] = []
    invitations: list[Invitation] = []


class Refused(ZotError):
    """``status`` is that of the HTTP answer."""

    def __init__(self, status: int, text: str) -> None:
        super().__init__(text)
        self.status = status


class Access:
    """The file of one home."""

    def __init__(self, home: Path) -> None:
        self._store = JsonStore(home / FILE, AccessFile, _ADVICE)
        self._read = AccessFile()
        self._stamp: tuple[int, int, int] | None = None
        self._wrong: dict[str, deque[float]] = {}

    # --- for the verbs

    def started(self, port: int, pid: int, beyond: str = "", fingerprint: str = "") -> None:
        with self._store.edit() as file:
            file.port, file.pid, file.beyond, file.fingerprint = port, pid, beyond, fingerprint

    def listening(self, socket: str) -> None:
        """The server has this socket for zots on this machine."""
        with self._store.edit() as file:
            file.socket = socket

    def load(self) -> AccessFile:
        return self._store.load()

    def invite(self) -> str:
        """A new token, for one device, within ten minutes."""
        token = secrets.token_urlsafe(16)  # 128 bits; an address fits into 80 columns
        now = time.time()
        with self._store.edit() as file:
            kept = [each for each in file.invitations if now < each.until <= now + TOKEN_LIFE_S]
            file.invitations = [*kept[1 - _TOKENS_MAX :], Invitation(_hash(token), now + TOKEN_LIFE_S)]
        return token

    def local_address(self, file: AccessFile) -> str:
        """For a browser on this machine, with a new token, in the fragment, which browsers do not send."""
        return f"http://127.0.0.1:{file.port}/#token={self.invite()}"

    def network_address(self, file: AccessFile) -> str:
        """For another machine, also with the fingerprint of the certificate."""
        return f"{file.beyond}/#token={self.invite()}&fingerprint={file.fingerprint}"

    def revoke(self, name: str) -> None:
        """NotThere if no device has this name."""
        with self._store.edit() as file:
            kept = [device for device in file.devices if device.name != name]
            if len(kept) == len(file.devices):
                raise NotThere(_no_device(name, [device.name for device in kept]))
            file.devices = kept

    def revoke_all(self) -> int:
        """Also tokens that were not used."""
        with self._store.edit() as file:
            count = len(file.devices)
            file.devices, file.invitations = [], []
        return count

    # --- for the server

    def exchange(self, token: str, name: str, address: str = "") -> tuple[str, str]:
        """The key of a new device, and its name. Refused for a wrong token; OSError if it cannot be saved, and then the
        token still works."""
        self._must_not_be_guessing(address)
        wanted, now = _hash(token), time.time()
        with self._store.edit() as file:
            found = [each for each in file.invitations if _is_equal(each.token_hash, wanted)]
            if not any(now < each.until <= now + TOKEN_LIFE_S for each in found):
                self._count_wrong(address)
                raise Refused(403, "this token was used, is too old or wrong; run `zot serve` again for a new address")
            if len(file.devices) >= DEVICES_MAX:
                raise Refused(403, f"there are {DEVICES_MAX} devices; remove one with `zot serve revoke NAME`")
            key = secrets.token_urlsafe(32)
            device = Device(_free_name(name, file.devices), _hash(key), utc_now(), address=address)
            file.invitations = [each for each in file.invitations if each not in found]
            file.devices = [*file.devices, device]
        return key, device.name

    def knows(self, key: str) -> bool:
        return bool(key) and self.known(_hash(key)) is not None

    def device(self, key: str, address: str = "") -> Device:
        """The device with this key; Refused if there is none."""
        if (found := self.known(_hash(key))) is not None:
            return found
        self._must_not_be_guessing(address)
        self._count_wrong(address)
        raise Refused(401, "this device is not known or was revoked; run `zot serve` for an address that adds it")

    def known(self, key_hash: str) -> Device | None:
        """None also if the file cannot be read."""
        try:
            devices = self._present().devices
        except (ConfigError, OSError):
            return None
        return next((device for device in devices if _is_equal(device.key_hash, key_hash)), None)

    def forget(self, key_hash: str) -> None:
        """Revoke the device with this key."""
        with self._store.edit() as file:
            file.devices = [device for device in file.devices if device.key_hash != key_hash]

    def mark_seen(self, key_hash: str, address: str = "") -> None:
        with suppress(ConfigError, OSError), self._store.edit() as file:  # only for the list
            for device in file.devices:
                if device.key_hash == key_hash:
                    device.seen, device.address = utc_now(), address

    def _present(self) -> AccessFile:
        found = self._store.path.stat()
        stamp = found.st_mtime_ns, found.st_ino, found.st_size
        if stamp != self._stamp:
            self._read, self._stamp = self._store.load(), stamp
        return self._read

    def _must_not_be_guessing(self, address: str) -> None:
        wrong = self._wrong.get(address, ())
        if len(wrong) == _TRIES and time.monotonic() - wrong[0] < _TRIES_S:
            raise Refused(429, "too many wrong tokens; wait a minute")

    def _count_wrong(self, address: str) -> None:
        wrong = self._wrong.pop(address, None) or deque(maxlen=_TRIES)
        wrong.append(time.monotonic())
        self._wrong[address] = wrong  # the last one counted is the last to be dropped
        while len(self._wrong) > _ADDRESSES_MAX:
            del self._wrong[next(iter(self._wrong))]


def _hash(secret: str) -> str:
    return sha256(secret.encode("utf-8", "replace")).hexdigest()


def _is_equal(stored: str, given: str) -> bool:
    return compare_digest(stored.encode("utf-8", "replace"), given.encode())


def _free_name(wanted: str, devices: list[Device]) -> str:
    """A name of one line, that no other device has."""
    printable = "".join(character if character.isprintable() else " " for character in wanted[: 4 * _NAME_MAX])
    name = " ".join(printable.split())[:_NAME_MAX].strip() or "device"
    taken, number, free = {device.name for device in devices}, 2, name
    while free in taken:
        free, number = f"{name} {number}", number + 1
    return free


def _no_device(name: str, known: list[str]) -> str:
    if not known:
        return f'no device "{name}": no device has a key'
    close = closest_match(name, known)
    return f'no device "{name}"' + (f"; did you mean {close}?" if close else "; `zot serve devices` lists them")
