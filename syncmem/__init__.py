"""syncmem: assistant memory on several devices, offline first.

One SQLite file a device remembers claims, believes the right one at every instant, and gives the same
beliefs whatever order its events arrived in.
"""

from __future__ import annotations

from importlib import import_module
from typing import TYPE_CHECKING, Any

from syncmem.environment import Environment, ManualClock
from syncmem.errors import (
    BadSignature,
    BrokenChain,
    Busy,
    Closed,
    Damaged,
    DiskFull,
    FileError,
    Forked,
    InvalidInput,
    KeyUnreadable,
    MailboxError,
    MailboxRefused,
    NewerFile,
    NoKeyring,
    NotAReplica,
    NotCanonical,
    NotFound,
    OverQuota,
    PeerError,
    ReadOnlyFile,
    Revoked,
    SeveralValues,
    SyncmemError,
    Unreachable,
    Unreadable,
    Wiped,
    WrongKey,
)
from syncmem.files import restore
from syncmem.joining import Invitation
from syncmem.meeting import DeviceInfo
from syncmem.memory import Memory
from syncmem.model.predicate import Predicate
from syncmem.model.value import NONE
from syncmem.results import (
    Belief,
    Change,
    Decision,
    Doctor,
    ErasureReport,
    Explanation,
    Grade,
    HistoryEntry,
    MergeReport,
    Notice,
    Receipt,
    RepairedLog,
    Source,
    Timeline,
    Withdrawal,
)
from syncmem.statements import TRUST_TIERS, UNDATED
from syncmem.watch import Subscription

if TYPE_CHECKING:
    from syncmem.aio import AsyncMemory
    from syncmem.background import BackgroundSync
    from syncmem.standing import DeviceStatus, ErasureStatus, MailboxStatus, MailboxSync, SlotChange, Status, SyncReport

__version__ = "0.1.0"

__all__ = [
    "NONE",
    "TRUST_TIERS",
    "UNDATED",
    "AsyncMemory",
    "BackgroundSync",
    "BadSignature",
    "Belief",
    "BrokenChain",
    "Busy",
    "Change",
    "Closed",
    "Damaged",
    "Decision",
    "DeviceInfo",
    "DeviceStatus",
    "DiskFull",
    "Doctor",
    "Environment",
    "ErasureReport",
    "ErasureStatus",
    "Explanation",
    "FileError",
    "Forked",
    "Grade",
    "HistoryEntry",
    "InvalidInput",
    "Invitation",
    "KeyUnreadable",
    "MailboxError",
    "MailboxRefused",
    "MailboxStatus",
    "MailboxSync",
    "ManualClock",
    "Memory",
    "MergeReport",
    "NewerFile",
    "NoKeyring",
    "NotAReplica",
    "NotCanonical",
    "NotFound",
    "Notice",
    "OverQuota",
    "PeerError",
    "Predicate",
    "ReadOnlyFile",
    "Receipt",
    "RepairedLog",
    "Revoked",
    "SeveralValues",
    "SlotChange",
    "Source",
    "Status",
    "Subscription",
    "SyncReport",
    "SyncmemError",
    "Timeline",
    "Unreachable",
    "Unreadable",
    "Wiped",
    "Withdrawal",
    "WrongKey",
    "restore",
]


_LATE = {
    "AsyncMemory": "syncmem.aio",  # asyncio is slow to import
    "BackgroundSync": "syncmem.background",
    **dict.fromkeys(
        ("DeviceStatus", "ErasureStatus", "MailboxStatus", "MailboxSync", "SlotChange", "Status", "SyncReport"),
        "syncmem.standing",
    ),
}


def __getattr__(name: str) -> Any:
    """What few programs need is loaded when it is first used."""
    if name in _LATE:
        return getattr(import_module(_LATE[name]), name)
    raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
