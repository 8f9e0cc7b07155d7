// Logs, salts and events (README.md, Logs to Payloads).
import {
  EVENT_MAX, PLACE_MAX, Fault, hex, isArray, isBytes, isInt, isText, pack, sha256, unpack,
} from "./canonical.mjs";

export const LATEST = 253402300799999999n, EARLIEST = -62135596800000000n;
export const CLAIM = 1n, AFFIRM = 2n, END = 3n, DENY = 4n, RETRACT = 5n, WITHDRAW = 6n, UNDO = 7n, DEFINE = 8n,
  CLOCK_NOTE = 9n, FRONTIER = 10n, ERASE = 11n, MOVED = 12n, SAME = 13n, DIFFERENT = 14n, EPISODE = 15n;
export const HEAD_0 = Buffer.alloc(32);

export const logId = (device, incarnation, scope) =>
  sha256("syncmem/v1/log\0", pack([device, incarnation, scope])).subarray(0, 16);

/** What is hashed of an event: its commitment, header, H and id. */
export function hashed({ log, place, kind, clock, payload, salt }) {
  const commitment = sha256("syncmem/v1/payload\0", salt, payload);
  const header = pack([log, place, kind, clock, commitment, BigInt(payload.length)]);
  const hash = sha256("syncmem/v1/header\0", header);
  return { header, hash, id: hash.subarray(0, 16) };
}
export const nextHead = (head, hash) => sha256("syncmem/v1/chain\0", head, hash);

export function clockNow(now, seen) {
  const followed = seen.filter((clock) => clock <= now + 300_000_000n);
  return followed.reduce((clock, other) => (other + 1n > clock ? other + 1n : clock), now);
}

// --- Salts: a cover is a Map from the number of a node to its 32 bytes.

const child = (node, bytes, bit) => [2 * node + bit, sha256("syncmem/v1/salt\0", Buffer.of(bit), bytes)];

/** Calls `passed(node, bytes)` for each node from the cover down to a leaf; gives the leaf's bytes, or undefined. */
function descend(cover, leaf, passed = () => {}) {
  const target = 256 + leaf;
  for (let level = 0; level <= 8; level++) {
    let node = target >> (8 - level), bytes = cover.get(node);
    if (!bytes) continue;
    while (node < target) {
      passed(node, bytes);
      [node, bytes] = child(node, bytes, (target >> (7 - Math.floor(Math.log2(node)))) & 1);
    }
    passed(node, bytes);
    return bytes;
  }
  return undefined;
}
export const saltOf = (cover, leaf) => descend(cover, leaf);

export function forget(cover, leaf) {
  const path = [];
  descend(cover, leaf, (node, bytes) => path.push([node, bytes]));
  if (!path.length) return;
  cover.delete(path[0][0]);
  for (let i = 1; i < path.length; i++) {
    const [parent, bytes] = path[i - 1], [sibling, value] = child(parent, bytes, (path[i][0] & 1) ^ 1);
    cover.set(sibling, value);
  }
}

// --- Payloads: of each kind its fields in order, and what each has to be.

const nil = (check) => (value) => value === null || check(value);
const time = (value) => isInt(value, EARLIEST, LATEST);
const offset = (value) => isInt(value, -LATEST, LATEST);
const place = (value) => isInt(value, 0n, PLACE_MAX);
const count = (value) => isInt(value, 0n, LATEST);
const trust = (value) => isInt(value, 0n, 100n);
const name = (value) => isText(value) && value !== "";
const map = (value) => value instanceof Map;
const bytes = (length) => (value) => isBytes(value, length);
const list = (check) => (value) => isArray(value) && value.every(check);
export const ref = (value) =>
  isArray(value, 3) && isBytes(value[0], 16) && isInt(value[1], 1n, PLACE_MAX) && isBytes(value[2], 16);
const batch = nil(isText), source = { sourceKind: nil(isText), sourceId: nil(isText) }, extra = nil(map);

/** Text, booleans, integers, finite floats, nil, and arrays and maps of these, at most `depth` inside one another. */
function plain(value, depth) {
  if (isBytes(value) || (typeof value === "number" && !Number.isFinite(value))) return false;
  const inside = isArray(value) ? value : map(value) ? [...value.values()] : null;
  return inside === null || (depth > 0 && inside.every((entry) => plain(entry, depth - 1)));
}
const value = (value) => plain(value, 12) && pack(value).length <= 49155;

const statement = {
  entity: name, predicate: name, value, form: (v) => isInt(v), observedAt: nil(time), start: nil(time),
  latestStart: nil(time), stop: nil(time), then: (v) => isInt(v), trust, ...source, batch, refs: nil(list(ref)), extra,
};
const link = { one: name, other: name, trust, ...source, batch, extra };
const kinds = new Map([
  [SAME, link], [DIFFERENT, link],
  [CLAIM, statement], [AFFIRM, statement], [END, statement], [DENY, statement],
  [RETRACT, { refs: list(ref), trust, ...source, batch, extra }],
  [WITHDRAW, { batch: isText, trust, ...source, extra }],
  [UNDO, { refs: list(ref), trust, ...source, extra }],
  [DEFINE, { predicate: name, settings: (v) => map(v) && value(v), trust, ...source, batch, extra }],
  [CLOCK_NOTE, { log: bytes(16), first: place, last: place, offset, trust, ...source, extra }],
  [FRONTIER, {
    transaction: count, foldVersion: count,
    changed: list((entry) => isArray(entry, 3) && isBytes(entry[0], 16) && place(entry[1]) && isBytes(entry[2], 8)),
    extra,
  }],
  [ERASE, { names: list(bytes(16)), salt: nil(bytes(32)), trust, ...source, extra }],
  [EPISODE, {
    kind: (v) => name(v) && Buffer.byteLength(v) <= 64, speaker: nil(name), at: time, conversation: nil(name),
    title: nil(name), mediaType: name, mentions: nil(list(name)), text: (v) => typeof v === "boolean",
    size: (v) => isInt(v, 0n, 2n ** 26n), content: nil((v) => isBytes(v)), chunks: nil((v) => isBytes(v)),
    sourceKind: nil(name), sourceId: nil(name), extra,
  }],
  // What a move does to the logs (section Forks) is left out here; its hashes are 1 to 256, its signature goes with a head.
  [MOVED, {
    incarnation: bytes(16), first: place, head: bytes(32), signature: (v) => isBytes(v, 0) || isBytes(v, 64),
    hashes: (v) => list(bytes(32))(v) && v.length >= 1 && v.length <= 256, extra,
  }],
]);

// --- Episodes (README.md, Episodes): a small one holds its content, a larger one the hashes of its chunks.

export const CHUNK_MAX = 48 * 1024;
const utf8 = new TextDecoder("utf-8", { fatal: true });
function isUtf8(content) {
  try {
    return utf8.decode(content) !== undefined;
  } catch {
    return false;
  }
}
function isWhole({ text, size, content, chunks }) {
  if (content !== null) return chunks === null && size === BigInt(content.length) && (!text || isUtf8(content));
  return size > 0n && chunks !== null && chunks.length === 32 * Math.ceil(Number(size) / CHUNK_MAX);
}
export const chunkHash = (content) => sha256("syncmem/v1/chunk\0", content);
/** Its id, and the entities that it is about: itself, who spoke, whom it mentions. */
export function episodeOf(scope, payload, { speaker, mentions }) {
  const id = sha256("syncmem/v1/episode\0", pack(scope), payload).subarray(0, 16);
  const about = [`episode:${hex(id)}`, ...(speaker === null ? [] : [speaker]), ...(mentions ?? [])];
  return { id, entities: [...new Set(about)] };
}

/** The fields of a payload by name, or null where this version cannot read it. */
export function readPayload(kind, clock, payload) {
  const fields = kinds.get(kind);
  if (!fields || clock > LATEST || payload.length > EVENT_MAX) return null;
  let entries;
  try {
    entries = unpack(payload);
  } catch (fault) {
    if (fault instanceof Fault) return null;
    throw fault;
  }
  const names = Object.keys(fields);
  if (!isArray(entries) || entries.length < names.length) return null;
  if (!names.every((name, i) => fields[name](entries[i]))) return null;
  const read = Object.fromEntries(names.map((name, i) => [name, entries[i]]));
  if (kind === EPISODE && !isWhole(read)) return null;
  if (kind === MOVED && (read.first < 1n || (read.first > 1n) !== (read.signature.length === 64))) return null;
  return read;
}
