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
from syncmem.observed import EpisodeInfo, Observation
from syncmem.results import (
    Aliases,
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
    from syncmem.importers.records import Importer
    from syncmem.importers.reports import ImportedBatch, ImportReport
    from syncmem.judging.candidate import Candidate
    from syncmem.judging.consolidating import Judgement
    from syncmem.judging.english import english
    from syncmem.judging.extracting import Extractor, ModelExtractor, Utterance
    from syncmem.judging.matching import Match, Matcher, ModelMatcher, by_names
    from syncmem.judging.packs import PackReport
    from syncmem.judging.questions import Answer, Option, Question
    from syncmem.judging.rederiving import Derivation
    from syncmem.judging.verbs import Submission
    from syncmem.memories import Memories
    from syncmem.recall.embedding import Embedder
    from syncmem.recall.results import Hit, Recalled, Said, SaidClaim
    from syncmem.repairing import LackingEvents, RepairReport, repair
    from syncmem.replica.inspecting import Inspected
    from syncmem.standing import DeviceStatus, ErasureStatus, MailboxStatus, MailboxSync, SlotChange, Status, SyncReport

__version__ = "0.1.0"

__all__ = [
    "NONE",
    "TRUST_TIERS",
    "UNDATED",
    "Answer",
    "AsyncMemory",
    "BackgroundSync",
    "BadSignature",
    "Belief",
    "BrokenChain",
    "Busy",
    "Candidate",
    "Change",
    "Closed",
    "Damaged",
    "Decision",
    "Derivation",
    "DeviceInfo",
    "DeviceStatus",
    "DiskFull",
    "Doctor",
    "Embedder",
    "Environment",
    "Aliases",
    "EpisodeInfo",
    "ErasureReport",
    "ErasureStatus",
    "Explanation",
    "Extractor",
    "FileError",
    "Forked",
    "Grade",
    "HistoryEntry",
    "Hit",
    "ImportReport",
    "ImportedBatch",
    "Importer",
    "InvalidInput",
    "Inspected",
    "Invitation",
    "Judgement",
    "KeyUnreadable",
    "LackingEvents",
    "MailboxError",
    "MailboxRefused",
    "MailboxStatus",
    "MailboxSync",
    "ManualClock",
    "Match",
    "Matcher",
    "Memories",
    "Memory",
    "MergeReport",
    "ModelExtractor",
    "ModelMatcher",
    "NewerFile",
    "NoKeyring",
    "NotAReplica",
    "NotCanonical",
    "NotFound",
    "Notice",
    "Observation",
    "Option",
    "OverQuota",
    "PackReport",
    "PeerError",
    "Predicate",
    "Question",
    "ReadOnlyFile",
    "Recalled",
    "Receipt",
    "RepairReport",
    "RepairedLog",
    "Revoked",
    "Said",
    "SaidClaim",
    "SeveralValues",
    "SlotChange",
    "Source",
    "Status",
    "Submission",
    "Subscription",
    "SyncReport",
    "SyncmemError",
    "Timeline",
    "Unreachable",
    "Unreadable",
    "Utterance",
    "Wiped",
    "Withdrawal",
    "WrongKey",
    "by_names",
    "english",
    "repair",
    "restore",
]


_LATE = {
    "AsyncMemory": "syncmem.aio",  # asyncio is slow to import
    "BackgroundSync": "syncmem.background",
    "Importer": "syncmem.importers.records",
    "Inspected": "syncmem.replica.inspecting",
    **dict.fromkeys(("ImportReport", "ImportedBatch"), "syncmem.importers.reports"),
    "Candidate": "syncmem.judging.candidate",  # and with it pydantic, as with what follows
    "Judgement": "syncmem.judging.consolidating",
    "english": "syncmem.judging.english",
    **dict.fromkeys(("Extractor", "ModelExtractor", "Utterance"), "syncmem.judging.extracting"),
    **dict.fromkeys(("Match", "Matcher", "ModelMatcher", "by_names"), "syncmem.judging.matching"),
    "PackReport": "syncmem.judging.packs",
    **dict.fromkeys(("Answer", "Option", "Question"), "syncmem.judging.questions"),
    "Derivation": "syncmem.judging.rederiving",
    "Submission": "syncmem.judging.verbs",
    "Memories": "syncmem.memories",
    **dict.fromkeys(("LackingEvents", "RepairReport", "repair"), "syncmem.repairing"),
    "Embedder": "syncmem.recall.embedding",
    **dict.fromkeys(("Hit", "Recalled", "Said", "SaidClaim"), "syncmem.recall.results"),
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
