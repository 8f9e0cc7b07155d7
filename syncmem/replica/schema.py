"""The tables of a replica, and how older files become current ones.

Rules: one migration is one transaction, version stamp included; a newer file is refused and not
changed; ``logs``, ``runs``, ``blocks``, ``moves``, ``transactions`` and ``chunks`` are the truth, all other tables
can be dropped and folded again.  Times are microseconds since 1970 UTC; ``-2**62`` and ``2**62`` stand for unbounded.

=================  =======================================================================================
``logs``           one row a log: its id, device key, incarnation, scope, last place, chain head and its signature
``signatures``     of each log: the signed places before the head at which a frame ends
``runs``           consecutive events of one log that arrived together; ``position = log << 40 | place``
``blocks``         of each block of 256 events: the salt tree, and the chain value before it; ``crc``: checksums of
                   what no chain covers
``erased``         positions of events of which only the header hash is held, in the order in which they were erased
``moves``          which branches of forked logs are void, and where what stood in them stands now
``transactions``   this device's transaction time: number, wall clock, the same corrected, slots touched
``eras``           transactions at which the clock had gone back; between them time only rises
``identity``       who this device is
``slots``          scope, entity, predicate
``pages``          the statements of a timeline in order of their start, with the fold's carry
``beliefs``        belief rectangles, valid time by known time; current ones have ``known_to = 2**62``
``denials``        statements that a value was never true
``links``          which event retracts, corrects, undoes or ends which, or is derived from which
``passages``       from which passage of an episode a statement was taken: of one, that say the same, are twins
``batches``        names of batches; ``members`` and ``withdrawals`` hold their events
``definitions``    every definition of a predicate; ``predicates`` holds the ones that stand
``entity_links``   every word on whether two names are one; ``aliases``: under which name each stands, by known time
``clock_notes``    known clock errors
``sources``        (kind, id) pairs that claims name
``erasures``       the names under which erasures speak of entities; ``sightings``: which log has seen which place
                   of which other log, by its frontier notes; ``mentions``: who else a statement speaks
                   of, and whom an episode is about
``episodes``       what was said or written, when and by whom; ``chunks``: the content of the larger ones, as far as
                   it is here; ``contents``: every larger one that ever was here; ``placed``: which mailboxes hold its
                   content, ``asked``: what others do not find there; ``lacked``: what is not found here
``imported``       of every event that came out of an archive which record of which archive it was, and its batch
``candidates``     what was heard and is not judged yet, or is judged and in doubt; of this device alone
``chores``         what is still to be done to the file: traces to be scrubbed, a repair to be finished
``documents``      what recall finds: each (slot, value) that is or was believed, with its terms; ``shelves``: the slots
                   they are of; ``indexing``: how far they were made.  Empty until recall is used for the first time
``vectors``        of documents, by model; ``embedders``: the models, and how far each has come
``recalls``        the read log: what was asked, and ``recalled``: the claims that were found.  Of this device alone
``items``          JSON objects under paths, of the predicates in ``item_kinds``, and ``item_fields``: by which they are
                   found; ``item_vectors``: of their texts, by ``item_models``.  Empty until a store of items is opened
``said``           where each log last said something, frontier notes aside, as far as that was looked for
``slot_digests``   of each slot what is believed, as one number; ``belief_digests`` hold their sums by scope
``statements``     the roster: who belongs to the vault
``cuts``           where the logs of removed devices stop to count, since which transaction
``addresses``      where the vault's mailboxes are
``mailboxes``      what is known of each; ``streams`` and ``gaps``: how far it was read; ``places_read``: what was
                   read before it was reset; ``blobs``: every one that was written or read there; ``holdings``: what
                   it holds; ``offers``: what may be dropped there
``reports``        what other devices said they hold; ``told``: what their frontier notes say that are still to come
=================  =======================================================================================

Views for reading with any SQLite tool: ``current_beliefs``, ``belief_history``, ``superseded_by``, ``arrivals``.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, Final

from syncmem.errors import NewerFile, NotAReplica
from syncmem.model.instant import BEGINNING, EARLIEST, FOREVER

if TYPE_CHECKING:
    from syncmem.replica.driver import Connection

APPLICATION_ID: Final = 0x73796D65  # "syme", in the file's header
SCHEMA_VERSION: Final = 1

_TABLES: Final = """
CREATE TABLE identity (name TEXT PRIMARY KEY, value) WITHOUT ROWID;
CREATE TABLE logs (
    no INTEGER PRIMARY KEY, id BLOB NOT NULL UNIQUE, device BLOB, incarnation BLOB, scope TEXT,
    seq INTEGER NOT NULL DEFAULT 0, head BLOB, clock INTEGER NOT NULL DEFAULT 0, own INTEGER NOT NULL DEFAULT 0,
    signature BLOB, open_bytes INTEGER NOT NULL DEFAULT 0);
CREATE TABLE signatures (log INTEGER, seq INTEGER, signature BLOB NOT NULL, PRIMARY KEY (log, seq)) WITHOUT ROWID;
CREATE TABLE runs (
    position INTEGER PRIMARY KEY, count INTEGER NOT NULL, tx INTEGER NOT NULL, body BLOB NOT NULL,
    crc INTEGER NOT NULL);
CREATE TABLE blocks (
    log INTEGER, block INTEGER, cover BLOB NOT NULL, opening BLOB NOT NULL, crc INTEGER NOT NULL,
    PRIMARY KEY (log, block)) WITHOUT ROWID;
CREATE TABLE said (
    log INTEGER PRIMARY KEY, place INTEGER NOT NULL, head BLOB NOT NULL, looked INTEGER NOT NULL);
CREATE TABLE moves (
    position INTEGER PRIMARY KEY, log BLOB NOT NULL, first INTEGER NOT NULL, count INTEGER NOT NULL,
    acts INTEGER NOT NULL DEFAULT 0);
CREATE TABLE transactions (
    n INTEGER PRIMARY KEY, wall INTEGER NOT NULL, time INTEGER NOT NULL,
    fold_version INTEGER NOT NULL, touched BLOB NOT NULL, crc INTEGER NOT NULL);
CREATE TABLE erased (no INTEGER PRIMARY KEY AUTOINCREMENT, position INTEGER NOT NULL UNIQUE);
CREATE TABLE eras (first INTEGER PRIMARY KEY);

CREATE TABLE slots (
    id INTEGER PRIMARY KEY AUTOINCREMENT, scope TEXT NOT NULL, entity TEXT NOT NULL, predicate TEXT NOT NULL,
    UNIQUE (entity, predicate, scope));
CREATE INDEX slots_predicate ON slots (predicate);
CREATE TABLE pages (
    id INTEGER PRIMARY KEY, slot INTEGER NOT NULL, lane BLOB NOT NULL, first INTEGER NOT NULL, until INTEGER NOT NULL,
    body BLOB NOT NULL, carry BLOB NOT NULL, UNIQUE (slot, lane, first));
CREATE TABLE beliefs (
    slot INTEGER NOT NULL, lane BLOB NOT NULL, known_to INTEGER NOT NULL, valid_from INTEGER NOT NULL,
    valid_to INTEGER NOT NULL, known_from INTEGER NOT NULL, value TEXT NOT NULL, trust INTEGER NOT NULL,
    contested INTEGER NOT NULL, source INTEGER NOT NULL, claim INTEGER NOT NULL,
    PRIMARY KEY (slot, lane, known_to, valid_from),
    CHECK (valid_from < valid_to), CHECK (known_from < known_to)) WITHOUT ROWID;
CREATE INDEX beliefs_contested ON beliefs (known_to) WHERE contested = 1;
CREATE TABLE denials (
    position INTEGER PRIMARY KEY, scope TEXT NOT NULL, entity TEXT NOT NULL, predicate TEXT NOT NULL,
    record BLOB NOT NULL);
CREATE INDEX denials_entity ON denials (entity, predicate, scope);
CREATE TABLE entity_links (
    position INTEGER PRIMARY KEY, scope TEXT NOT NULL, same INTEGER NOT NULL, one TEXT NOT NULL, other TEXT NOT NULL);
CREATE INDEX entity_links_one ON entity_links (one);
CREATE INDEX entity_links_other ON entity_links (other);
CREATE TABLE aliases (
    scope TEXT, entity TEXT, known_from INTEGER, known_to INTEGER NOT NULL, stands TEXT NOT NULL,
    PRIMARY KEY (scope, entity, known_from)) WITHOUT ROWID;
CREATE TABLE links (
    target INTEGER, source INTEGER, relation INTEGER NOT NULL, id BLOB NOT NULL, PRIMARY KEY (target, source, relation)
) WITHOUT ROWID;
CREATE TABLE passages (passage BLOB, position INTEGER, PRIMARY KEY (passage, position)) WITHOUT ROWID;
CREATE TABLE batches (id INTEGER PRIMARY KEY, scope TEXT NOT NULL, name TEXT NOT NULL, UNIQUE (name, scope));
CREATE TABLE members (
    batch INTEGER, position INTEGER, count INTEGER NOT NULL, PRIMARY KEY (batch, position)) WITHOUT ROWID;
CREATE TABLE withdrawals (batch INTEGER, position INTEGER, PRIMARY KEY (batch, position)) WITHOUT ROWID;
CREATE TABLE definitions (position INTEGER PRIMARY KEY, scope TEXT NOT NULL, predicate TEXT NOT NULL);
CREATE INDEX definitions_predicate ON definitions (predicate);
CREATE TABLE predicates (
    predicate TEXT, scope TEXT, settings TEXT NOT NULL, claim INTEGER NOT NULL, PRIMARY KEY (predicate, scope)
) WITHOUT ROWID;
CREATE TABLE clock_notes (
    position INTEGER, log INTEGER, first INTEGER, last INTEGER NOT NULL, offset INTEGER NOT NULL,
    stands INTEGER NOT NULL DEFAULT 0, PRIMARY KEY (position, log, first)) WITHOUT ROWID;
CREATE TABLE sources (
    id INTEGER PRIMARY KEY AUTOINCREMENT, kind TEXT, name TEXT, uses INTEGER NOT NULL DEFAULT 0);
CREATE UNIQUE INDEX sources_pair ON sources (coalesce(kind, ''), coalesce(name, ''));
CREATE TABLE slot_digests (slot INTEGER PRIMARY KEY, scope TEXT NOT NULL, digest BLOB NOT NULL);
CREATE TABLE belief_digests (scope TEXT PRIMARY KEY, digest BLOB NOT NULL, n INTEGER NOT NULL) WITHOUT ROWID;
"""

_ERASURE_TABLES: Final = """
CREATE TABLE erasures (
    scope TEXT, name BLOB, position INTEGER, salt BLOB NOT NULL, applied INTEGER NOT NULL DEFAULT 0,
    PRIMARY KEY (scope, name, position)) WITHOUT ROWID;
CREATE INDEX erasures_position ON erasures (position);
CREATE INDEX erasures_to_do ON erasures (position) WHERE applied = 0;
CREATE TABLE sightings (
    about INTEGER, log INTEGER, last INTEGER, place INTEGER NOT NULL, head BLOB NOT NULL,
    PRIMARY KEY (about, log, last, head)) WITHOUT ROWID;
CREATE TABLE mentions (entity TEXT, position INTEGER, PRIMARY KEY (entity, position)) WITHOUT ROWID;
CREATE TABLE episodes (
    position INTEGER PRIMARY KEY, id BLOB NOT NULL, scope TEXT NOT NULL, at INTEGER NOT NULL, speaker TEXT,
    conversation TEXT, event BLOB NOT NULL);
CREATE INDEX episodes_id ON episodes (id);
CREATE INDEX episodes_at ON episodes (at);
CREATE TABLE imported (
    mark BLOB, position INTEGER, batch INTEGER NOT NULL, PRIMARY KEY (mark, position)) WITHOUT ROWID;
CREATE TABLE chunks (
    no INTEGER PRIMARY KEY, episode BLOB NOT NULL, number INTEGER NOT NULL, body BLOB NOT NULL,
    UNIQUE (episode, number));
CREATE TABLE contents (event BLOB PRIMARY KEY, scope TEXT NOT NULL, chunks INTEGER NOT NULL) WITHOUT ROWID;
CREATE TABLE lacked (event BLOB PRIMARY KEY) WITHOUT ROWID;
CREATE TABLE candidates (
    id INTEGER PRIMARY KEY AUTOINCREMENT, scope TEXT NOT NULL, subjects TEXT NOT NULL, observed INTEGER NOT NULL,
    body TEXT NOT NULL, doubt TEXT);
CREATE TABLE chores (name TEXT PRIMARY KEY, state TEXT NOT NULL) WITHOUT ROWID;
"""

_RECALL_TABLES: Final = """
CREATE TABLE indexing (name TEXT PRIMARY KEY, state INTEGER NOT NULL) WITHOUT ROWID;
CREATE TABLE documents (
    id INTEGER PRIMARY KEY AUTOINCREMENT, slot INTEGER NOT NULL, lane BLOB NOT NULL, digest INTEGER NOT NULL,
    live INTEGER NOT NULL, value TEXT NOT NULL, terms TEXT NOT NULL, UNIQUE (slot, digest));
CREATE TABLE shelves (slot INTEGER PRIMARY KEY, live INTEGER NOT NULL, terms TEXT NOT NULL);
CREATE VIEW live_texts AS
    SELECT id * 2 AS id, terms FROM documents WHERE live > 0 UNION ALL
    SELECT slot * 2 + 1, terms FROM shelves WHERE live > 0;
CREATE VIEW past_texts AS
    SELECT id * 2 AS id, terms FROM documents WHERE live = 0 UNION ALL
    SELECT slot * 2 + 1, terms FROM shelves WHERE live = 0;
CREATE TABLE embedders (
    no INTEGER PRIMARY KEY AUTOINCREMENT, id TEXT NOT NULL UNIQUE, done INTEGER NOT NULL DEFAULT 0,
    words INTEGER NOT NULL DEFAULT 0);
CREATE TABLE vectors (
    id INTEGER PRIMARY KEY AUTOINCREMENT, document INTEGER NOT NULL, model INTEGER NOT NULL, words INTEGER NOT NULL,
    vector BLOB NOT NULL, UNIQUE (document, model));
CREATE TABLE recalls (
    no INTEGER PRIMARY KEY AUTOINCREMENT, id TEXT NOT NULL UNIQUE, n INTEGER NOT NULL, time INTEGER NOT NULL,
    instant INTEGER NOT NULL, question TEXT, asked TEXT, digest BLOB);
CREATE INDEX recalls_digest ON recalls (digest);
CREATE TABLE recalled (
    recall INTEGER, rank INTEGER, claim INTEGER NOT NULL, handed INTEGER NOT NULL, past INTEGER NOT NULL,
    score REAL NOT NULL, why TEXT NOT NULL, PRIMARY KEY (recall, rank)) WITHOUT ROWID;
CREATE INDEX recalled_claim ON recalled (claim);
"""

_ITEM_TABLES: Final = """
CREATE TABLE item_kinds (
    no INTEGER PRIMARY KEY AUTOINCREMENT, predicate TEXT NOT NULL, scope TEXT NOT NULL,
    present INTEGER NOT NULL DEFAULT 0, UNIQUE (predicate, scope));
CREATE TABLE items (
    no INTEGER PRIMARY KEY AUTOINCREMENT, kind INTEGER NOT NULL, slot INTEGER NOT NULL, space TEXT NOT NULL,
    valid_from INTEGER NOT NULL, valid_to INTEGER NOT NULL, created INTEGER NOT NULL, claim INTEGER NOT NULL,
    value TEXT NOT NULL);
CREATE INDEX items_slot ON items (slot);
CREATE INDEX items_space ON items (kind, space, valid_from);
CREATE INDEX items_latest ON items (kind, valid_from);
CREATE TABLE item_fields (
    kind INTEGER, name TEXT, value, slot INTEGER, PRIMARY KEY (kind, name, value, slot)) WITHOUT ROWID;
CREATE TABLE item_models (
    no INTEGER PRIMARY KEY AUTOINCREMENT, id TEXT NOT NULL UNIQUE, done INTEGER NOT NULL DEFAULT 0);
CREATE TABLE item_vectors (
    item INTEGER, model INTEGER, path TEXT, vector BLOB NOT NULL, PRIMARY KEY (item, model, path)) WITHOUT ROWID;
"""

_VAULT_TABLES: Final = """
CREATE TABLE statements (id BLOB PRIMARY KEY, wire BLOB NOT NULL) WITHOUT ROWID;
CREATE TABLE cuts (log BLOB, n INTEGER, seq INTEGER, PRIMARY KEY (log, n)) WITHOUT ROWID;
CREATE TABLE addresses (address TEXT PRIMARY KEY) WITHOUT ROWID;
CREATE TABLE mailboxes (
    no INTEGER PRIMARY KEY, address TEXT NOT NULL, scope TEXT NOT NULL, id BLOB NOT NULL, epoch BLOB,
    reported BLOB NOT NULL DEFAULT x'', wanted BLOB NOT NULL DEFAULT x'', success INTEGER, trouble TEXT,
    own BLOB, sent INTEGER NOT NULL DEFAULT 0, noted INTEGER NOT NULL DEFAULT 0, left_behind INTEGER NOT NULL DEFAULT 0,
    knew INTEGER NOT NULL DEFAULT 0, cleaned INTEGER NOT NULL DEFAULT 0, audited INTEGER,
    UNIQUE (address, id));
CREATE TABLE streams (
    mailbox INTEGER, stream BLOB, cursor INTEGER NOT NULL, last INTEGER NOT NULL, absent INTEGER,
    PRIMARY KEY (mailbox, stream)) WITHOUT ROWID;
CREATE TABLE gaps (
    mailbox INTEGER, stream BLOB, first INTEGER, last INTEGER NOT NULL, settled INTEGER NOT NULL DEFAULT 0,
    PRIMARY KEY (mailbox, stream, first)) WITHOUT ROWID;
CREATE TABLE places_read (
    mailbox INTEGER, stream BLOB, first INTEGER, last INTEGER NOT NULL,
    PRIMARY KEY (mailbox, stream, first)) WITHOUT ROWID;
CREATE TABLE blobs (
    mailbox INTEGER NOT NULL, stream BLOB NOT NULL, counter INTEGER NOT NULL, digest BLOB NOT NULL,
    state INTEGER NOT NULL, contents BLOB NOT NULL, events INTEGER NOT NULL, reason TEXT, blob BLOB,
    anew INTEGER NOT NULL DEFAULT 0, UNIQUE (mailbox, stream, counter));
CREATE INDEX blobs_by_state ON blobs (mailbox, state);
CREATE INDEX blobs_to_send ON blobs (mailbox) WHERE blob IS NOT NULL;
CREATE INDEX blobs_small ON blobs (mailbox, stream) WHERE state = 1 AND events < 256;
CREATE TABLE offers (mailbox INTEGER NOT NULL, key BLOB NOT NULL, signature BLOB NOT NULL, names BLOB NOT NULL);
CREATE TABLE holdings (mailbox INTEGER, what BLOB, seq INTEGER NOT NULL, PRIMARY KEY (mailbox, what)) WITHOUT ROWID;
CREATE TABLE placed (
    mailbox INTEGER, event BLOB, state INTEGER NOT NULL, PRIMARY KEY (mailbox, event)) WITHOUT ROWID;
CREATE TABLE asked (
    mailbox INTEGER, event BLOB, number INTEGER, PRIMARY KEY (mailbox, event, number)) WITHOUT ROWID;
CREATE TABLE told (
    log INTEGER, place INTEGER, clock INTEGER NOT NULL, changed BLOB NOT NULL, PRIMARY KEY (log, place)) WITHOUT ROWID;
CREATE TABLE reports (
    device BLOB, scope TEXT, events BLOB NOT NULL, beliefs BLOB NOT NULL, seen INTEGER NOT NULL, verified INTEGER,
    held INTEGER NOT NULL, epoch BLOB NOT NULL, frontier BLOB, diverged INTEGER NOT NULL DEFAULT 0,
    PRIMARY KEY (device, scope)) WITHOUT ROWID;
"""

DERIVED_TABLES: Final = (
    *("slots", "pages", "beliefs", "denials", "links", "passages", "batches", "members", "withdrawals", "definitions"),
    *("predicates", "clock_notes", "sources", "slot_digests", "belief_digests", "entity_links", "aliases"),
    *("erasures", "sightings", "mentions", "episodes", "imported", "said"),
)


def _moment(column: str) -> str:
    """SQL for a readable time; NULL for unbounded, and for what nobody dated."""
    return (
        f"CASE WHEN {column} IN ({BEGINNING}, {EARLIEST}, {FOREVER}) THEN NULL "
        f"ELSE strftime('%Y-%m-%dT%H:%M:%SZ', {column} / 1000000, 'unixepoch') END"
    )


_RECTANGLES: Final = (
    "SELECT s.scope, s.entity, s.predicate, b.value, "
    f"{_moment('b.valid_from')} AS valid_from, {_moment('b.valid_to')} AS valid_to, "
    "b.known_from, nullif(b.known_to, 4611686018427387904) AS known_to, b.trust, b.contested, "
    "o.kind AS source_kind, o.name AS source_id, b.claim, b.slot "
    "FROM beliefs b JOIN slots s ON s.id = b.slot LEFT JOIN sources o ON o.id = b.source"
)

_VIEWS: Final = f"""
CREATE VIEW belief_history AS {_RECTANGLES};
CREATE VIEW current_beliefs AS {_RECTANGLES} WHERE b.known_to = {FOREVER};
CREATE VIEW superseded_by AS
    SELECT s.scope, s.entity, s.predicate, b.value, b.claim, next.value AS next_value, next.claim AS next_claim,
        {_moment("b.valid_to")} AS at
    FROM beliefs b
    JOIN beliefs next ON next.slot = b.slot AND next.lane = b.lane AND next.known_to = {FOREVER}
        AND next.valid_from = b.valid_to
    JOIN slots s ON s.id = b.slot
    WHERE b.known_to = {FOREVER} AND next.value <> b.value;
CREATE VIEW arrivals AS
    SELECT l.id AS log, r.position & {2**40 - 1} AS seq, r.count, r.tx, t.wall
    FROM runs r JOIN logs l ON l.no = r.position >> 40 LEFT JOIN transactions t ON t.n = r.tx;
"""


def version(connection: Connection) -> int:
    """The schema version of a file: 0 for a new one.

    Raises:
        NotAReplica: there is something in the file, and it is not ours.
        NewerFile: a later version wrote it.
    """
    found = int(connection.execute("PRAGMA user_version").fetchone()[0])
    owner = int(connection.execute("PRAGMA application_id").fetchone()[0])
    if owner != APPLICATION_ID:
        empty = connection.execute("SELECT count(*) FROM sqlite_master").fetchone()[0] == 0
        if not empty or found or owner:
            raise NotAReplica("the file is a database of something else; choose another path")
        return 0
    if found > SCHEMA_VERSION:
        raise NewerFile(f"the file has version {found}, this syncmem reads up to {SCHEMA_VERSION}; upgrade syncmem")
    return found


def admit(connection: Connection) -> None:
    """Refuse a file that is not ours or too new, before anything of it is changed."""
    version(connection)


def migrate(connection: Connection) -> None:
    """Bring a file to the current version; inside the caller's write transaction."""
    if version(connection) == SCHEMA_VERSION:
        return
    from sqlite_utils import Database  # slow to import, and needed only here

    _migrations().apply(Database(connection))
    connection.execute(f"PRAGMA application_id = {APPLICATION_ID}")
    connection.execute(f"PRAGMA user_version = {SCHEMA_VERSION}")


def _migrations() -> Any:
    from sqlite_utils.migrations import Migrations

    steps = Migrations("syncmem")

    @steps()
    def first_tables(db: Any) -> None:
        tables = _TABLES + _ERASURE_TABLES + _RECALL_TABLES + _ITEM_TABLES + _VAULT_TABLES
        for statement in (tables + _VIEWS).split(";\n"):
            if statement.strip():
                db.execute(statement)

    return steps
