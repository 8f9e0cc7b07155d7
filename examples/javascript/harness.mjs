// Answers the words of protocol/harness.md: one JSON object a line asks, one a line answers.
import { pathToFileURL } from "node:url";
import {
  Fault, PLACE_MAX, compare, hex, invalid, isArray, isInt, isText, pack, sha256, unpack,
} from "./canonical.mjs";
import {
  EPISODE, FRONTIER, HEAD_0, chunkHash, clockNow, episodeOf, forget, hashed, logId, nextHead, readPayload, saltOf,
} from "./events.mjs";
import { FOREVER, beliefDigest, fold } from "./fold.mjs";
import { Replica, hashes, heads, isSigned, nameOf, readBundle, readFrame } from "./frames.mjs";
import {
  agreedByMailbox, deviceKeys, dropKey, epochKeys, open, paddedLength, readBlob, readCode, seal, shelfOf, streamOf,
  unwrap,
} from "./keys.mjs";
import { messages, readName } from "./mailbox.mjs";
import { readStatement, roster } from "./roster.mjs";

// --- What is written in questions and answers.

const BYTES_MAX = 20 * 1024 * 1024;
/** Bytes in hex, where "(00*512)" says something many times. */
export function bytes(text, length) {
  if (!isText(text) || !/^(?:[0-9a-f]{2}|\((?:[0-9a-f]{2})+\*\d+\))*$/.test(text)) throw invalid("no bytes");
  let total = 0;
  const parts = text.match(/\([^)]*\)|[0-9a-f]+/g) ?? [];
  const read = parts.map((part) => {
    const [, unit, times] = /^\(?([0-9a-f]+)(?:\*(\d+)\))?$/.exec(part);
    if ((total += (unit.length / 2) * (times ?? 1)) > BYTES_MAX) throw invalid("too many bytes");
    return Buffer.from(unit.repeat(times ?? 1), "hex");
  });
  const all = Buffer.concat(read);
  if (length !== undefined && all.length !== length) throw invalid(`${length} bytes are asked`);
  return all;
}
export function int(number, least, most) {
  if (!Number.isInteger(number) || !isInt(BigInt(number), least, most)) throw invalid("no such integer");
  return BigInt(number);
}
export const text = (value) => {
  if (!isText(value)) throw invalid("text is asked");
  return value;
};
export const list = (value) => {
  if (!isArray(value)) throw invalid("an array is asked");
  return value;
};
function valueOf(json) {
  if (json === null || typeof json === "boolean" || isText(json)) return json;
  if (isArray(json)) return json.map(valueOf);
  const [[name, inside], more] = Object.entries(Object(json)).concat([[], []]);
  if (more.length) throw invalid("no value");
  if (name === "int" && /^-?\d+$/.test(inside)) return BigInt(inside);
  if (name === "float") return bytes(inside, 8).readDoubleBE();
  if (name === "bytes") return bytes(inside);
  if (name === "map") return new Map(list(inside).map(([key, entry]) => [text(key), valueOf(entry)]));
  throw invalid("no value");
}
function jsonOf(value) {
  if (typeof value === "bigint") return { int: String(value) };
  if (typeof value === "number") return { float: hex(pack(value).subarray(1)) };
  if (value instanceof Uint8Array) return { bytes: hex(value) };
  if (isArray(value)) return value.map(jsonOf);
  if (value instanceof Map) return { map: [...value].map(([key, entry]) => [key, jsonOf(entry)]) };
  return value;
}
/** An answer as JSON: bytes in hex, integers as numbers. */
const written = (answer) => JSON.stringify(answer, (_, value) => (typeof value === "bigint" ? Number(value) : value));

// --- The words.

function replicaOf({ frames, cuts = [], subject_keys = {} }) {
  const replica = new Replica({
    cuts: new Map(list(cuts).map(([log, place]) => [hex(bytes(log, 16)), int(place, 0n, PLACE_MAX)])),
    subjectKeys: new Map(Object.entries(subject_keys).map(([scope, key]) => [scope, bytes(key, 32)])),
  });
  return [replica, list(frames).map((frame) => replica.receive(bytes(frame)))];
}
const envelopeOf = (ask) =>
  ({ epochKey: bytes(ask.epoch_key, 32), epoch: bytes(ask.epoch, 16), vault: bytes(ask.vault, 16) });
const inHex = (says) => (isArray(says) ? says.map(inHex) : says instanceof Uint8Array ? hex(says) : says);
const inOrder = (rows) => rows.sort(compare);

const words = {
  hello: () => ({ protocol: 1, implementation: "examples/javascript", words: Object.keys(words), outcomes: [
    "accepted", "known", "kept", "forgotten", "not-canonical", "wrong-signature", "broken-chain", "gap", "forked",
    "unreadable", "refused", "invalid",
  ] }),
  encode: ({ value }) => ({ bytes: hex(pack(valueOf(value))) }),
  decode: (ask) => ({ value: jsonOf(unpack(bytes(ask.bytes))) }),
  clock: ({ now, seen }) => ({ clock: clockNow(int(now), list(seen).map((clock) => int(clock))) }),
  salt({ cover, leaf, forget: gone = [] }) {
    const number = (leaf) => Number(int(leaf, 0n, 255n));
    const nodes = new Map(list(cover).map(([node, value]) => [Number(int(node, 1n, 511n)), bytes(value, 32)]));
    for (const leaf of list(gone)) forget(nodes, number(leaf));
    const salt = saltOf(nodes, number(leaf));
    const left = inOrder([...nodes].map(([node, value]) => [node, hex(value)]));
    return { outcome: salt ? "accepted" : "forgotten", ...(salt && { salt: hex(salt) }), cover: left };
  },
  event(ask) {
    const log = logId(bytes(ask.device, 32), bytes(ask.incarnation, 16), text(ask.scope));
    const place = int(ask.place, 1n, PLACE_MAX), kind = int(ask.kind, 0n), clock = int(ask.clock, 0n);
    const payload = bytes(ask.payload), previous = ask.previous === undefined ? HEAD_0 : bytes(ask.previous, 32);
    const { header, hash, id } = hashed({ log, place, kind, clock, payload, salt: bytes(ask.salt, 32) });
    return {
      outcome: readPayload(kind, clock, payload) ? "accepted" : "kept",
      log: hex(log), header: hex(header), hash: hex(hash), id: hex(id), head: hex(nextHead(previous, hash)),
    };
  },
  frame(ask) {
    const frame = readFrame(bytes(ask.frame)), { log, device, incarnation, scope, first, head } = frame;
    if (!isSigned(frame)) throw new Fault("wrong-signature", "the head is not signed by the log's device");
    if (ask.previous === undefined && first > 1n) throw new Fault("gap", "events before these are missing");
    const events = hashes(frame);
    if (!heads(frame, events, ask.previous === undefined ? HEAD_0 : bytes(ask.previous, 32)))
      throw new Fault("broken-chain", "the events do not lead to the head");
    return {
      log: hex(log), device: hex(device), incarnation: hex(incarnation), scope, first, head: hex(head),
      events: events.map(({ place, id, kind, clock, payload }) =>
        payload ? [place, hex(id), kind, clock, hex(payload)] : [place, hex(id)]),
    };
  },
  episode(ask) {
    const payload = bytes(ask.payload), scope = text(ask.scope), said = readPayload(EPISODE, 0n, payload);
    if (!said) return { outcome: "kept" };
    const { id, entities } = episodeOf(scope, payload, said), told = { id: hex(id), entities };
    const chunks = (said.chunks?.length ?? 0) / 32;
    if (ask.chunk === undefined) return { ...told, chunks };
    const number = Number(int(ask.number, 0n)), hash = said.chunks?.subarray(32 * number - 32, 32 * number);
    const named = number >= 1 && number <= chunks && compare(hash, chunkHash(bytes(ask.chunk))) === 0;
    return { outcome: named ? "accepted" : "refused", ...told, chunks };
  },
  bundle(ask) {
    const { frames, chunks } = readBundle(bytes(ask.bundle));
    return {
      frames: frames.map(({ log, first, last }) => [hex(log), first, last]),
      chunks: chunks.map(({ episode, number, body }) => [hex(episode), number, body.length]),
    };
  },
  receive(ask) {
    const [replica, outcomes] = replicaOf(ask);
    const logs = [...replica.logs.values()].map(({ id, entries, heads }) => [
      hex(id), entries.length, hex(heads.at(-1)), entries.filter(({ payload }) => !payload).map(({ place }) => place),
    ]);
    return { outcome: outcomes.at(-1) ?? "accepted", outcomes, logs: inOrder(logs) };
  },
  fold(ask) {
    const rows = fold(replicaOf(ask)[0]), scopes = [...new Set(rows.map(({ scope }) => scope))];
    const beliefs = rows.map((row) => [
      row.scope, row.entity, row.predicate, hex(row.lane), row.from, row.to === FOREVER ? null : row.to,
      jsonOf(unpack(row.value)), row.trust, row.contested,
    ]);
    const digests = scopes.map((scope) => [scope, hex(beliefDigest(rows.filter((row) => row.scope === scope)))]);
    beliefs.sort((a, b) => compare(a.slice(0, 5), b.slice(0, 5)));
    return { beliefs, digests: Object.fromEntries(digests) };
  },
  digest(ask) {
    const logs = [...replicaOf(ask)[0].logs.values()].filter(({ scope }) => scope === ask.scope || scope === "vault");
    const ends = logs
      .map(({ id, entries, heads }) => [id, entries.findLastIndex(({ kind }) => kind !== FRONTIER) + 1, heads])
      .filter(([, place]) => place > 0).map(([id, place, heads]) => [id, BigInt(place), heads[place]]);
    const ids = list(ask.statements).map((id) => bytes(id, 16));
    const held = logs.reduce((sum, { entries }) => sum + BigInt(entries.length), BigInt(ids.length));
    return { events: hex(sha256(pack([inOrder(ends), inOrder(ids)]))), held };
  },
  keys(ask) {
    const keys = (names) => Object.fromEntries(Object.entries(names).map(([name, key]) => [name, hex(key)]));
    if (ask.device_seed !== undefined && ask.mailbox !== undefined)
      return keys({ drop_key: dropKey(bytes(ask.device_seed, 32), bytes(ask.mailbox, 16)) });
    if (ask.device_seed !== undefined) return keys(deviceKeys(bytes(ask.device_seed, 32)));
    if (ask.epoch_key !== undefined) {
      const { writeKey, mailbox, namesKey } = epochKeys(bytes(ask.epoch_key, 32));
      if (ask.event !== undefined) return keys(shelfOf(bytes(ask.epoch_key, 32), bytes(ask.event, 16)));
      if (ask.relay_key !== undefined) {
        const { agreement, shared } = agreedByMailbox(bytes(ask.epoch_key, 32), bytes(ask.relay_key, 32));
        return keys({ agreement_key: agreement, shared });
      }
      if (ask.log !== undefined) return keys({ stream: streamOf(namesKey, bytes(ask.log, 16)) });
      return keys({ write_key: writeKey, mailbox, names_key: namesKey });
    }
    if (ask.subject_key !== undefined) return keys({ name: nameOf(bytes(ask.subject_key, 32), text(ask.entity)) });
    if (ask.length !== undefined) return { padded: paddedLength(Number(int(ask.length, 0n))) };
    if (ask.code === undefined) throw invalid("phrases need the list of words of BIP-39, which is not here");
    const { secret, address, place } = readCode(text(ask.code));
    return { secret: hex(secret), address, place: hex(place) };
  },
  unwrap(ask) {
    const [epochKey, subjectKey] =
      unwrap(bytes(ask.wrap), bytes(ask.device_seed, 32), bytes(ask.vault, 16), text(ask.scope));
    return { epoch_key: hex(epochKey), subject_key: hex(subjectKey) };
  },
  statement(ask) {
    const { id, kind, vault, parents, signer, time, body } = readStatement(bytes(ask.statement));
    const outcome = body ? "accepted" : "kept";
    return { outcome, id: hex(id), kind, vault: hex(vault), parents: parents.map(hex), signer: hex(signer), time };
  },
  roster({ statements, logs = [], device_seed: seed }) {
    const asked = list(logs).map(([device, log]) => [hex(bytes(device, 32)), hex(bytes(log, 16))]);
    return roster(list(statements).map((statement) => bytes(statement)), asked, seed && bytes(seed, 32));
  },
  seal: (ask) => ({ envelope: hex(seal(bytes(ask.plaintext), { ...envelopeOf(ask), random: bytes(ask.random, 32) })) }),
  open: (ask) => ({ plaintext: hex(open(bytes(ask.envelope), envelopeOf(ask))) }),
  blob(ask) {
    const { device, incarnation, counter, state, items } =
      readBlob(bytes(ask.blob), bytes(ask.vault, 16), bytes(ask.mailbox, 16),
        ask.device && [bytes(ask.device, 32), bytes(ask.incarnation, 16)]);
    return {
      device: hex(device), incarnation: hex(incarnation), counter, state: jsonOf(state),
      items: items.map(([kind, says]) => [kind, inHex(says)]),
    };
  },
  mailbox(ask) {
    if (ask.message === "name") return readName(text(ask.name));
    if (!Object.hasOwn(messages, ask.message)) throw invalid("no such message");
    const relay = ask.relay_seed === undefined ? undefined
      : { seed: bytes(ask.relay_seed, 32), agreement: bytes(ask.agreement_key, 32) };
    return messages[ask.message](bytes(ask.bytes), list(ask.registered ?? []).map((key) => hex(bytes(key, 32))), relay);
  },
};

/** The answer to a line; nothing that is asked ends the program. */
export function answer(line) {
  try {
    const ask = JSON.parse(line), word = Object.hasOwn(words, ask.word) ? words[ask.word] : undefined;
    if (!word) throw invalid("this word is not known here");
    return written({ outcome: "accepted", ...word(ask) });
  } catch (fault) {
    // Whatever JavaScript itself stumbles over is a question of another form.
    return written({ outcome: fault instanceof Fault ? fault.outcome : "invalid", why: fault.message });
  }
}

/** Lines end with a line feed and nothing else: within JSON U+2028 may stand as it is. */
async function* linesOf(stream) {
  let rest = "";
  for await (const chunk of stream.setEncoding("utf8")) {
    const lines = (rest + chunk).split("\n");
    rest = lines.pop();
    yield* lines;
  }
  if (rest) yield rest;
}

if (process.argv[1] && import.meta.url === pathToFileURL(process.argv[1]).href)
  for await (const line of linesOf(process.stdin)) process.stdout.write(answer(line) + "\n");
