// Frames, bundles, and a replica that takes frames in and erases (README.md, Frames and Erasure).
import { inflateSync } from "node:zlib";
import {
  CONTAINERS_MAX, EVENT_MAX, Fault, PLACE_MAX, ascends, ascii, compare, hex, hmac, isArray, isBytes, isInt,
  isText, malformed, must, pack, pieces, sha256, signed, unpack,
} from "./canonical.mjs";
import {
  CHUNK_MAX, DENY, DIFFERENT, EPISODE, ERASE, FRONTIER, HEAD_0, SAME, episodeOf, hashed, logId, nextHead, readPayload, saltOf,
} from "./events.mjs";
import { nfc } from "./values.mjs";

const BODY_MAX = 192 * 1024;
const FIELD_DEPTH = 21; // a field of 15 levels, in an entry of a column of a group of the groups of the body

function bodyOf(frame) {
  must(frame.length > 1 && frame.length <= BODY_MAX + 1 && frame[0] <= 1, "no codec, no body, or too long");
  if (frame[0] === 0) return frame.subarray(1);
  try {
    const { buffer, engine } = inflateSync(frame.subarray(1), { maxOutputLength: BODY_MAX, info: true });
    must(engine.bytesWritten === frame.length - 1, "something follows the zlib stream");
    return buffer;
  } catch (fault) {
    throw fault instanceof Fault ? fault : malformed("no zlib stream, or one too long");
  }
}

/** The entries of a column. `clocks` are those of the same events, within groups. */
function column(parts, clocks) {
  must(isArray(parts) && isInt(parts[0], 0n, 4n), "a column begins with its mode");
  const [mode, first, second] = parts;
  const some = (list) => isArray(list) && list.length <= 256;
  const ints = (list) => some(list) && list.every((entry) => isInt(entry));
  must(parts.length === [3, 2, 3, 3, 2][Number(mode)], "a column has the parts of its mode");
  switch (mode) {
    case 0n:
      must(isInt(first, 1n, 256n), "a count is 1 to 256");
      return Array(Number(first)).fill(second);
    case 1n:
      must(some(first), "a list of at most 256 entries");
      return first;
    case 2n:
      must(some(first) && ints(second) && second.every((i) => i >= 0n && i < first.length), "numbers of values");
      must(new Set(second).size === first.length, "every value is named");
      return second.map((i) => first[Number(i)]);
    case 3n: {
      must(isInt(first) && ints(second) && second.length < 256, "integers");
      const entries = [first];
      for (const step of second) entries.push(entries.at(-1) + step);
      must(entries.every((entry) => isInt(entry)), "integers of 64 bits");
      return entries;
    }
    default:
      must(clocks && some(first) && first.length === clocks.length, "an entry for each event of a group");
      must(first.every((step) => step === null || isInt(step)), "integers or nil");
      return first.map((step, i) => (step === null ? null : clocks[i] + step));
  }
}

/** What is in a frame; whether it is signed and leads to its head is not looked at here. */
export function readFrame(frame) {
  const body = unpack(bodyOf(frame), { longest: BODY_MAX, deepest: FIELD_DEPTH, most: CONTAINERS_MAX });
  must(isArray(body, 10), "ten parts");
  const [key, first, kindsColumn, clocksColumn, shapesColumn, groups, nodes, erased, head, signature] = body;
  must(isArray(key, 3) && isBytes(key[0], 32) && isBytes(key[1], 16) && isText(key[2]), "[device, incarnation, scope]");
  must(key[2] !== "device", "the scope device never travels");
  must(isInt(first, 1n, PLACE_MAX) && isBytes(head, 32) && isBytes(signature, 64), "first place, head, signature");
  const pairs = (list, least, most) =>
    isArray(list) && list.every((pair) => isArray(pair, 2) && isInt(pair[0], least, most) && isBytes(pair[1], 32)) &&
    ascends(list, ([number]) => number);
  must(pairs(nodes, 1n, 511n), "a cover");

  const kinds = column(kindsColumn), clocks = column(clocksColumn), shapes = column(shapesColumn);
  must(kinds.every((kind) => isInt(kind, 0n, 2n ** 63n - 1n)), "kinds");
  must(clocks.every((clock) => isInt(clock, 0n, 2n ** 62n - 1n)), "clocks");
  must(clocks.length === kinds.length && shapes.length === kinds.length, "an entry for each event");
  const payloads = rebuild(groups, shapes, clocks);

  must(isArray(erased) && kinds.length + erased.length > 0, "an event");
  const last = first + BigInt(kinds.length + erased.length) - 1n;
  must(last <= PLACE_MAX && first >> 8n === last >> 8n, "inside one block");
  must(pairs(erased, first, last), "erased events");
  const holes = new Map(erased), events = [];
  for (let place = first, i = 0; place <= last; place++) {
    const hash = holes.get(place);
    events.push(hash ? { place, hash } : { place, kind: kinds[i], clock: clocks[i], payload: payloads[i++] });
  }
  const [device, incarnation, scope] = key, cover = new Map(nodes.map(([node, bytes]) => [Number(node), bytes]));
  return { log: logId(...key), device, incarnation, scope, first, last, events, cover, head, signature };
}

function rebuild(groups, shapes, clocks) {
  must(isArray(groups) && shapes.every((shape) => isInt(shape, 0n, BigInt(groups.length) - 1n)), "numbers of groups");
  const columns = groups.map((group, number) => {
    const members = clocks.filter((_, i) => shapes[i] === BigInt(number));
    must(members.length > 0, "each group has an event");
    must(isArray(group, 2) && isInt(group[0], -1n, 32n) && isArray(group[1]), "[arity, columns]");
    must(group[1].length === (group[0] < 0n ? 1 : Number(group[0])), "as many columns as its arity says");
    const entries = group[1].map((parts) => column(parts, members));
    must(entries.every((column) => column.length === members.length), "as many entries as events");
    must(group[0] >= 0n || entries[0].every((entry) => isBytes(entry)), "payloads are bytes");
    return entries;
  });
  const next = groups.map(() => 0);
  let total = 0;
  return shapes.map((shape) => {
    const row = next[shape]++, fields = columns[shape].map((entries) => entries[row]);
    const payload = groups[shape][0] < 0n ? fields[0] : packed(fields);
    must((total += payload.length) <= EVENT_MAX, "payloads are too long together");
    return payload;
  });
}
function packed(fields) {
  try {
    return pack(fields);
  } catch (fault) {
    throw fault instanceof Fault ? malformed(fault.message) : fault; // nobody asked for what has no encoding
  }
}

export const isSigned = (frame) =>
  signed(frame.device, frame.signature, "syncmem/v1/head\0", pack([frame.log, frame.last, frame.head]));

/** The frame's events with hash and id, as it gives them; without a hash where the salt is missing. */
export function hashes(frame) {
  return frame.events.map((event) => {
    const salt = event.payload && saltOf(frame.cover, Number(event.place % 256n));
    const hash = salt ? hashed({ ...event, log: frame.log, salt }).hash : event.hash;
    return { ...event, hash, id: hash?.subarray(0, 16) };
  });
}
/** The heads after each event, or null where they do not lead from `head` to the frame's. */
export function heads(frame, events, head) {
  const found = [];
  for (const { hash } of events) {
    if (!hash) return null;
    found.push((head = nextHead(head, hash)));
  }
  return compare(head, frame.head) === 0 ? found : null;
}

const MAGIC = "syncmem bundle 1\n";
const CHUNK_PIECE = 2;
export function readBundle(bytes) {
  must(compare(bytes.subarray(0, MAGIC.length), ascii(MAGIC)) === 0, "no bundle");
  const parts = pieces(bytes.subarray(MAGIC.length), BODY_MAX + 1), end = parts.pop();
  must(end && compare(end, pack(["end", BigInt(parts.length), sha256(...parts)])) === 0, "another end");
  const isChunk = (part) => part[0] === CHUNK_PIECE;
  return { frames: parts.filter((part) => !isChunk(part)).map(readFrame), chunks: parts.filter(isChunk).map(readChunk) };
}
function readChunk(piece) {
  const parts = unpack(piece.subarray(1));
  must(isArray(parts) && isBytes(parts[0], 16) && isInt(parts[1]) && isBytes(parts[2]), "[episode, number, bytes]");
  const [episode, number, body] = parts;
  must(body.length >= 1 && body.length <= CHUNK_MAX, "a part of 1 byte to 48 KiB");
  return { episode, number, body };
}

/** What somebody holds: logs by the hex of their ids, each with its entries and the heads after them. */
export class Replica {
  constructor({ cuts = new Map(), subjectKeys = new Map() } = {}) {
    Object.assign(this, { logs: new Map(), cuts, subjectKeys });
  }

  /** Takes the bytes of a frame in, and says what came of it (README.md, the table of Frames). */
  receive(bytes) {
    try {
      const [outcome, filled] = this.take(readFrame(bytes));
      this.erase();
      return filled.some(({ payload }) => payload) ? "accepted" : outcome;
    } catch (fault) {
      if (fault instanceof Fault) return fault.outcome;
      throw fault;
    }
  }
  take(frame) {
    if (!isSigned(frame)) return ["wrong-signature", []];
    const name = hex(frame.log), { log: id, device, scope } = frame;
    const log = this.logs.get(name) ?? { name, id, device: hex(device), scope, entries: [], heads: [HEAD_0] };
    const held = log.entries.length;
    if (frame.first > held + 1) return ["gap", []];
    const events = hashes(frame);
    if (frame.last <= held) {
      if (compare(log.heads[Number(frame.last)], frame.head) !== 0) return ["forked", []];
      return ["known", this.fill(log, events)];
    }
    const fresh = events.filter((event) => event.place > held), added = heads(frame, fresh, log.heads[held]);
    if (!added) return [held && fresh.every((event) => event.hash) ? "forked" : "broken-chain", []];
    this.logs.set(name, log);
    this.fill(log, events.filter((event) => event.place <= held));
    log.entries.push(...fresh.map((event) => this.entry(log, event)));
    log.heads.push(...added);
    return ["accepted", []];
  }
  entry(log, event) {
    const fields = event.payload ? readPayload(event.kind, event.clock, event.payload) : null;
    return { ...event, log, fields };
  }
  /** Payloads for erased events that are held: the places that were filled in. */
  fill(log, events) {
    const filled = events.filter((event) => {
      const held = log.entries[event.place - 1n];
      return event.payload && !held.payload && event.hash && compare(event.hash, held.hash) === 0;
    });
    return filled.map((event) => Object.assign(log.entries[event.place - 1n], this.entry(log, event)));
  }
  *events() {
    for (const log of this.logs.values()) yield* log.entries;
  }
  get(name, place) {
    return this.logs.get(name)?.entries[Number(place) - 1];
  }
  behindCut({ log, place }) {
    return this.cuts.has(log.name) && place > this.cuts.get(log.name);
  }

  /** Of statements and links that are not admitted the header hash is kept and nothing more. */
  erase() {
    const acting = [...this.events()].filter((entry) => entry.kind === ERASE && entry.fields && !this.behindCut(entry));
    for (const erasing of acting) {
      const { scope } = erasing.log, key = erasing.fields.salt ?? this.subjectKeys.get(scope);
      if (!key) continue; // it waits for the key
      const names = new Set(erasing.fields.names.map(hex));
      for (const entry of this.events()) {
        const { place, log, kind, fields, payload } = entry;
        const link = kind === SAME || kind === DIFFERENT;
        if (!fields || !(kind <= DENY || link || kind === EPISODE)) continue;
        if (log.scope !== scope || sawErased(log, place, erasing)) continue;
        const about = link ? [fields.one, fields.other]
          : kind === EPISODE ? episodeOf(scope, payload, fields).entities : statedAbout(fields);
        if (about.some((entity) => isText(entity) && namesOf(entity).some((name) => names.has(hex(nameOf(key, name))))))
          Object.assign(entry, { kind: undefined, clock: undefined, payload: undefined, fields: null });
      }
    }
  }
}
function statedAbout(fields) {
  const mentions = fields?.extra?.get("mentions");
  return [fields?.entity, ...(isArray(mentions) ? mentions : [])];
}

/** By which names an erasure means an entity: its own and, of a path, each label (of a file also without its ending). */
const LABEL = String.raw`"(?:[^"\\\x00-\x1f]|\\.)*"`, PATH = new RegExp(`^\\[${LABEL}(?:,${LABEL})+\\]$`, "u");
function namesOf(entity) {
  if (/^(\/[^/]+){2,}$/u.test(entity)) {
    const labels = entity.split("/").slice(1), last = labels.at(-1), dot = last.lastIndexOf(".");
    return [entity, ...labels, ...(dot > 0 ? [last.slice(0, dot)] : [])].map(nfc);
  }
  if (!PATH.test(entity)) return [entity];
  let labels = [];
  try {
    labels = JSON.parse(entity);
  } catch {} // an escape that there is not: no path
  return [entity, ...labels.filter((label) => !/\p{Surrogate}/u.test(label)).map(nfc)];
}
export const nameOf = (key, entity) => hmac(key, "syncmem/v1/subject\0", Buffer.from(entity)).subarray(0, 16);

/** Whether who wrote this log knew of the erase event before it wrote what stands at the place. */
function sawErased(log, place, erasing) {
  return log.entries.slice(0, Number(place) - 1).some((entry) =>
    entry === erasing ||
    (entry.kind === FRONTIER && entry.fields?.changed.some(
      ([other, last]) => compare(other, erasing.log.id) === 0 && last >= erasing.place)));
}
