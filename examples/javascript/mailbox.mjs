// What a mailbox is asked and answers (mailbox.md).
import {
  Fault, ascends, concat, hex, hmac, invalid, isArray, isBytes, isInt, isText, must, pack, sha256, signed,
  unpack,
} from "./canonical.mjs";
import { COUNTER_MAX, agreedByRelay, isName, mailboxOf } from "./keys.mjs";

const REQUEST_MAX = 16 * 1024 * 1024, HEAD_MAX = 512 * 1024, MALFORMED = 5n;
const count = (value) => isInt(value, 0n, COUNTER_MAX);
const stream = (value) => isBytes(value, 8);
const text = (value) => isText(value);
const bool = (value) => typeof value === "boolean";
const rows = (value, most, ...checks) => must(isArray(value) && value.length <= most &&
  value.every((row) => isArray(row, checks.length) && checks.every((check, i) => check(row[i]))), "rows of a head");

/** The head of a message and what follows it. A head has at least so many fields. */
function readMessage(bytes, fields) {
  must(bytes.length >= 4 && bytes.length <= REQUEST_MAX, "no message");
  const length = bytes.readUInt32BE();
  must(length <= HEAD_MAX && length <= bytes.length - 4, "the length of the head");
  const head = unpack(bytes.subarray(4, 4 + length), { longest: HEAD_MAX });
  must(isArray(head) && head.length >= fields && head[0] === 1n, "version 1, with all its parts");
  return [head, bytes.subarray(4 + length)];
}
/** A request that is signed, or has a code under what was agreed on (by the relay: its seed, and who said which key). */
function readRequest(bytes, fields, relay) {
  must(bytes.length >= 64 && bytes.length <= REQUEST_MAX, "no request");
  const message = bytes.subarray(0, -64), [head, blobs] = readMessage(message, fields);
  must(isBytes(head[1], 32), "a write key");
  const proof = bytes.subarray(-64);
  if (!(relay && isCode(proof, message, agreedByRelay(relay.seed, head[1], relay.agreement))) &&
    !signed(head[1], proof, "syncmem/v1/request\0", sha256(message)))
    throw new Fault("unreadable", "not signed with the write key");
  return [head, blobs];
}
const isCode = (proof, message, { relayKey, shared }) =>
  proof.equals(concat(relayKey, hmac(shared, "syncmem/v1/code\0", sha256(message))));
function cut(blobs, sizes) {
  let at = 0;
  const parts = sizes.map((size) => {
    must(size <= blobs.length - at, "blobs are shorter");
    return blobs.subarray(at, (at += Number(size)));
  });
  must(at === blobs.length, "blobs are longer");
  return parts;
}
const digest = (blob) => sha256(blob).subarray(0, 16);
const nameOf = ([stream, counter, digest]) => `${hex(stream)}/${String(counter).padStart(12, "0")}-${hex(digest)}`;
const places = (list) => {
  rows(list, 4096, stream, count);
  must(ascends(list, ([stream]) => stream), "streams ascend");
  return list.map(([stream, last]) => [hex(stream), last]);
};
const position = (pair) => {
  must(pair === null || (isArray(pair, 2) && isBytes(pair[0], 16) && isInt(pair[1], 0n, 4096n * COUNTER_MAX)), "a position");
  return pair && `${hex(pair[0])}-${pair[1]}`;
};
const names = (list) => {
  must(isArray(list) && list.length <= 2048 && list.every((row) => isArray(row) && isName(row)), "names");
  return list.map(nameOf);
};

export const messages = {
  exchange(bytes, registered, relay) {
    const [[, key, puts, cursors, inline, dropKey, makingRoom], blobs] = readRequest(bytes, 7, relay);
    rows(puts, 256, stream, count, count);
    must(count(inline) && (dropKey === null || isBytes(dropKey, 32)) && bool(makingRoom), "what goes with the blobs");
    const parts = cut(blobs, puts.map(([, , size]) => size));
    const answered = puts.map(([stream, counter], i) => [
      nameOf([stream, counter, digest(parts[i])]),
      counter >= 1n && parts[i].length ? null : MALFORMED,
    ]);
    const asks = { cursors: places(cursors), inline, drop_key: dropKey && hex(dropKey), making_room: makingRoom };
    return { mailbox: hex(mailboxOf(key)), puts: answered, ...asks };
  },
  answer(bytes) {
    const [[, epoch, results, ends, listed, more], blobs] = readMessage(bytes, 6);
    must(isBytes(epoch, 16) && bool(more), "epoch and more");
    rows(results, 256, (result) => isInt(result), (reason) => reason === null || text(reason));
    rows(listed, 2048, stream, count, (value) => isBytes(value, 16), count, bool);
    const along = listed.filter((row) => row[4]), parts = cut(blobs, along.map((row) => row[3]));
    return {
      epoch: hex(epoch), ends: places(ends), more,
      results: results.map(([result]) => (isInt(result, 0n, MALFORMED) ? result : MALFORMED)),
      listed: listed.map((row) => [nameOf(row), row[3], row[4] ? hex(parts[along.indexOf(row)]) : null]),
    };
  },
  get(bytes) {
    const [[, key, list], blobs] = readRequest(bytes, 3);
    cut(blobs, []);
    return { key: hex(key), names: names(list) };
  },
  drop(bytes, registered) {
    const [[, key, list, reason, signatures], blobs] = readRequest(bytes, 5);
    cut(blobs, []);
    const dropped = names(list), mailbox = mailboxOf(key);
    must(text(reason), "a reason");
    rows(signatures, 2, (value) => isBytes(value, 32), (value) => isBytes(value, 64));
    const counting = new Set(signatures.filter(([dropKey, signature]) => registered.includes(hex(dropKey)) &&
      signed(dropKey, signature, "syncmem/v1/dropping\0", mailbox, pack([reason, list]))).map(([dropKey]) => hex(dropKey)));
    const enough = reason === "erase" ? 1 : reason === "compact" ? Math.min(2, Math.max(1, registered.length)) : Infinity;
    if (counting.size < enough) throw new Fault("refused", "not enough registered keys have signed");
    return { mailbox: hex(mailbox), names: dropped, reason };
  },
  dropped(bytes) {
    const [[, list], blobs] = readMessage(bytes, 2);
    cut(blobs, []);
    must(isArray(list) && list.every(bool), "gone or not");
    return { dropped: list };
  },
  watch(bytes) {
    const [[, key, since], blobs] = readRequest(bytes, 3);
    cut(blobs, []);
    return { mailbox: hex(mailboxOf(key)), since: position(since) };
  },
  agree(bytes) {
    const [[, key, agreement], blobs] = readRequest(bytes, 3);
    cut(blobs, []);
    must(isBytes(agreement, 32), "an agreement key");
    return { mailbox: hex(mailboxOf(key)), agreement_key: hex(agreement) };
  },
  agreed(bytes) {
    const [[, relayKey], blobs] = readMessage(bytes, 2);
    cut(blobs, []);
    must(isBytes(relayKey, 32), "a relay's key");
    return { relay_key: hex(relayKey) };
  },
  moved(bytes) {
    const [[, at], blobs] = readMessage(bytes, 2);
    cut(blobs, []);
    return { position: position(at) };
  },
};

export function readName(name) {
  const [, stream, counter, digest] = /^([0-9a-f]{16})\/([0-9]{12})-([0-9a-f]{32})$/.exec(name) ?? [];
  if (!stream) throw invalid("no name of a blob");
  return { stream, counter: Number(counter), digest };
}
