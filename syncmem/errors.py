"""Every error syncmem raises, grouped by who must act.

Rules: each message ends with the next step; after any of them the replica is as it was before.

* you:       :class:`InvalidInput`, :class:`NotFound`, :class:`SeveralValues`, :class:`Closed`
* the file:  :class:`FileError` and its kinds
* the peer:  :class:`PeerError` and its kinds (bytes that came from another device)
* the way:   :class:`MailboxError` and its kinds (what lies between the devices)
"""

from __future__ import annotations


class SyncmemError(Exception):
    """The root of all errors of this package."""


class InvalidInput(SyncmemError, ValueError):
    """An argument cannot be used as it is; nothing was written."""


class NotFound(SyncmemError, LookupError):
    """The event, device or batch that was named is not known to this replica."""


class SeveralValues(SyncmemError, LookupError):
    """One value was asked for where several are believed at the same time."""


class Closed(SyncmemError):
    """The replica was closed, or belongs to another process (after a fork)."""


class FileError(SyncmemError):
    """The replica's file, or the disk under it, does not allow the operation."""


class NotAReplica(FileError):
    """The file exists and is not a syncmem replica."""


class WrongKey(FileError):
    """The file is encrypted and does not open with the key that was given, or has none; it was not changed."""


class KeyUnreadable(FileError):
    """A device's key exists and cannot be read just now; nothing was made in its place."""


class NoKeyring(KeyUnreadable):
    """There is no system keyring here, or nothing that can use it."""


class NewerFile(FileError):
    """The file was written by a newer version of syncmem; it was not changed."""


class ReadOnlyFile(FileError):
    """The file or its folder cannot be written."""


class Busy(FileError):
    """Another process held the write lock for longer than the waiting time."""


class DiskFull(FileError):
    """There is no room left; nothing was written."""


class Damaged(FileError):
    """Stored bytes do not match their digest or cannot be read back."""


class PeerError(SyncmemError):
    """Bytes from elsewhere were refused; what was already held is untouched."""


class NotCanonical(PeerError, ValueError):
    """Bytes are not the one canonical encoding of a value, or exceed a limit."""


class BrokenChain(PeerError):
    """Events do not continue the log that they claim to belong to.

    ``missing_after``: the last place that is held, where only events between are missing.
    """

    def __init__(self, message: str, missing_after: int | None = None) -> None:
        super().__init__(message)
        self.missing_after = missing_after


class BadSignature(PeerError):
    """The head of a log is not signed by the device that the log belongs to."""


class Forked(PeerError):
    """Two different events claim the same place in one log."""


class Unreadable(PeerError):
    """Sealed bytes do not open with any key of this device, or were changed on their way."""


class Revoked(SyncmemError):
    """This device was removed from its vault: what it wrote stays here, nothing more is sent or received."""


class Wiped(Revoked):
    """This device was removed and told to delete its memory; the message says what is gone, and what is left."""


class MailboxError(SyncmemError):
    """A mailbox did not do what was asked; what is held here is safe, and the next sync tries again."""


class Unreachable(MailboxError):
    """The mailbox cannot be reached now (no network, no folder, a login page in between)."""


class MailboxRefused(MailboxError):
    """The mailbox answered and refused."""


class OverQuota(MailboxRefused):
    """The mailbox is full or was asked too often; ``retry_after`` says in how many seconds to try again."""

    def __init__(self, message: str, retry_after: float | None = None) -> None:
        super().__init__(message)
        self.retry_after = retry_after
