"""syncmem: assistant memory on several devices, offline first.

One SQLite file a device remembers claims, believes the right one at every instant, and gives the same
beliefs whatever order its events arrived in.
"""

from __future__ import annotations

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
    MailboxError,
    MailboxRefused,
    NewerFile,
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
)
from syncmem.files import restore
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
)
from syncmem.standing import DeviceStatus, MailboxStatus, MailboxSync, SlotChange, Status, SyncReport
from syncmem.statements import TRUST_TIERS, UNDATED
from syncmem.syncing import Invitation
from syncmem.watch import Subscription

if TYPE_CHECKING:
    from syncmem.aio import AsyncMemory

__version__ = "0.1.0"

__all__ = [
    "NONE",
    "TRUST_TIERS",
    "UNDATED",
    "AsyncMemory",
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
    "Explanation",
    "FileError",
    "Forked",
    "Grade",
    "HistoryEntry",
    "InvalidInput",
    "Invitation",
    "MailboxError",
    "MailboxRefused",
    "MailboxStatus",
    "MailboxSync",
    "ManualClock",
    "Memory",
    "MergeReport",
    "NewerFile",
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
    "restore",
]


def __getattr__(name: str) -> Any:
    """AsyncMemory is loaded when it is first used: asyncio is slow to import."""
    if name == "AsyncMemory":
        from syncmem.aio import AsyncMemory

        return AsyncMemory
    raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
