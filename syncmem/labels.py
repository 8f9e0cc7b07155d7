"""Every label of the protocol: what keeps a hash, a derivation or a signature of one kind from being taken for another.

Rule: each is used for one purpose, all are different, and none is the beginning of another (held by a test).
"""

from __future__ import annotations

from typing import Final

PAYLOAD: Final = b"syncmem/v1/payload\0"  # commitment of a payload
HEADER: Final = b"syncmem/v1/header\0"
CHAIN: Final = b"syncmem/v1/chain\0"
LOG: Final = b"syncmem/v1/log\0"
SALT: Final = b"syncmem/v1/salt\0"  # nodes of a block's salt tree
HEAD: Final = b"syncmem/v1/head\0"  # signature of a log's head

TRANSPORT: Final = b"syncmem/v1/transport\0"
PAPER: Final = b"syncmem/v1/paper\0"
WRITE: Final = b"syncmem/v1/write\0"
NAMES: Final = b"syncmem/v1/names\0"
WRAP: Final = b"syncmem/v1/wrap\0"
MAILBOX: Final = b"syncmem/v1/mailbox\0"
DROP: Final = b"syncmem/v1/drop\0"  # a device's drop key at one mailbox

STATEMENT: Final = b"syncmem/v1/statement\0"  # signature of a roster statement
ROSTER: Final = b"syncmem/v1/roster\0"  # id of a roster statement
MEMBER: Final = b"syncmem/v1/member\0"  # a device's signature of its own transport key

EPOCH: Final = b"syncmem/v1/epoch\0"  # mark of an epoch key
SUBJECTS: Final = b"syncmem/v1/subjects\0"  # mark of a subject key

SALTING: Final = b"syncmem/v1/salting\0"
MESSAGE: Final = b"syncmem/v1/message\0"
ENVELOPE: Final = b"syncmem/v1/envelope\0"
BLOB: Final = b"syncmem/v1/blob\0"  # signature of a blob

REQUEST: Final = b"syncmem/v1/request\0"  # signature of a request to a mailbox
AGREEMENT: Final = b"syncmem/v1/agreement\0"  # a mailbox's key to agree with a relay
SHARED: Final = b"syncmem/v1/shared\0"  # what the two agree on
CODE: Final = b"syncmem/v1/code\0"  # of a request, under what was agreed on
DROPPING: Final = b"syncmem/v1/dropping\0"  # signature of a drop

INVITATION: Final = b"syncmem/v1/invitation\0"  # the meeting place of a pairing
JOINING: Final = b"syncmem/v1/joining\0"  # the new device's request
ADMISSION: Final = b"syncmem/v1/admission\0"  # the answer to it
RECOVERY: Final = b"syncmem/v1/recovery\0"  # the meeting place of the paper member
SUBJECT: Final = b"syncmem/v1/subject\0"  # names of erased entities
AT_REST: Final = b"syncmem/v1/rest\0"  # the side file of an encrypted database
EPISODE: Final = b"syncmem/v1/episode\0"  # id of an episode
CHUNK: Final = b"syncmem/v1/chunk\0"  # hash of a part of its content
CONTENT: Final = b"syncmem/v1/content\0"  # key of the mailbox of its content
