// Canonical bytes (README.md, Canonical bytes), and the hashes and signatures that are made over them.
//
// A value here: null, true, "text", Uint8Array (bytes), array, Map (of text), bigint (an integer), number (a float).
import { createHash, createHmac, createPublicKey, verify } from "node:crypto";

export const PLACE_MAX = 2n ** 40n - 1n, DEPTH_MAX = 16, EVENT_MAX = 65536, CONTAINERS_MAX = 16384;

/** Something that was asked or read ends otherwise than accepted: the outcomes of harness.md. */
export class Fault extends Error {
  constructor(outcome, why) { super(why); this.outcome = outcome; }
}
export const malformed = (why) => new Fault("not-canonical", why);
export const invalid = (why) => new Fault("invalid", why);
export const must = (holds, why) => { if (!holds) throw malformed(why); };

export const isInt = (value, least = -(2n ** 63n), most = 2n ** 64n - 1n) =>
  typeof value === "bigint" && value >= least && value <= most;
export const isText = (value) => typeof value === "string";
export const isBytes = (value, length) =>
  value instanceof Uint8Array && (length === undefined || value.length === length);
export const isArray = (value, length) =>
  Array.isArray(value) && (length === undefined || value.length === length);

export const hex = (bytes) => Buffer.from(bytes).toString("hex");
export const ascii = (text) => Buffer.from(text, "latin1");
export const concat = (...parts) => Buffer.concat(parts.map((part) => (isText(part) ? ascii(part) : part)));
export const sha256 = (...parts) => createHash("sha256").update(concat(...parts)).digest();
export const hmac = (key, ...parts) => createHmac("sha256", key).update(concat(...parts)).digest();

/** Which of two comes first: numbers by size, text by its UTF-8 bytes, bytes and arrays from left to right. */
export function compare(a, b) {
  if (isArray(a)) {
    for (let i = 0; i < Math.min(a.length, b.length); i++) {
      const order = compare(a[i], b[i]);
      if (order) return order;
    }
    return a.length - b.length;
  }
  if (isText(a)) return Buffer.compare(Buffer.from(a), Buffer.from(b));
  if (isBytes(a)) return Buffer.compare(a, b);
  return a < b ? -1 : a > b ? 1 : 0;
}
export const ascends = (list, of = (entry) => entry) =>
  list.every((entry, i) => i === 0 || compare(of(list[i - 1]), of(entry)) < 0);
export const greatest = (list, of) =>
  list.reduce((best, entry) => (best === undefined || compare(of(entry), of(best)) > 0 ? entry : best), undefined);

const der = Buffer.from("302a300506032b6570032100", "hex"); // what stands before the 32 bytes of an Ed25519 key
export function signed(publicKey, signature, ...parts) {
  try {
    const key = createPublicKey({ key: concat(der, publicKey), format: "der", type: "spki" });
    return verify(null, concat(...parts), key, signature);
  } catch {
    return false;
  }
}

// Heads of msgpack, by what they begin: [greatest short length, short head, [[length of the length, head] ...]].
const heads = {
  text: [31, 0xa0, [[1, 0xd9], [2, 0xda], [4, 0xdb]]],
  bytes: [-1, 0, [[1, 0xc4], [2, 0xc5], [4, 0xc6]]],
  array: [15, 0x90, [[2, 0xdc], [4, 0xdd]]],
  map: [15, 0x80, [[2, 0xde], [4, 0xdf]]],
};
function headOf(kind, length) {
  const [short, head, longer] = heads[kind];
  if (length <= short) return Buffer.of(head + length);
  const [size, first] = longer.find(([size]) => length < 2 ** (8 * size));
  return concat(Buffer.of(first), bigEndian(BigInt(length), size));
}
export function bigEndian(number, size) {
  return Buffer.from(BigInt.asUintN(8 * size, BigInt(number)).toString(16).padStart(2 * size, "0"), "hex");
}

export function pack(value, depth = 0) {
  if (value === null) return Buffer.of(0xc0);
  if (typeof value === "boolean") return Buffer.of(value ? 0xc3 : 0xc2);
  if (typeof value === "bigint") return packInt(value);
  if (typeof value === "number") {
    if (Number.isNaN(value)) throw invalid("not a number has no encoding");
    const bytes = Buffer.alloc(9, 0xcb);
    bytes.writeDoubleBE(value, 1);
    return bytes;
  }
  if (isText(value)) {
    if (!value.isWellFormed()) throw invalid("a surrogate has no UTF-8");
    const text = Buffer.from(value);
    return concat(headOf("text", text.length), text);
  }
  if (isBytes(value)) return concat(headOf("bytes", value.length), value);
  if (depth >= DEPTH_MAX) throw invalid("nested too deep");
  if (isArray(value)) return concat(headOf("array", value.length), ...value.map((entry) => pack(entry, depth + 1)));
  if (value instanceof Map) {
    const pairs = [...value].map(([key, entry]) => [pack(key), pack(entry, depth + 1)]);
    return concat(headOf("map", value.size), ...pairs.sort(compare).flat());
  }
  throw invalid("no value");
}
function packInt(value) {
  if (!isInt(value)) throw invalid("an integer beyond 64 bits");
  if (value >= -32n && value < 128n) return bigEndian(value, 1);
  const size = [1, 2, 4, 8].find((size) =>
    value < 0 ? value >= -(2n ** BigInt(8 * size - 1)) : value < 2n ** BigInt(8 * size));
  return concat(Buffer.of((value < 0 ? 0xd0 : 0xcc) + Math.log2(size)), bigEndian(value, size));
}

const utf8 = new TextDecoder("utf-8", { fatal: true, ignoreBOM: true });

/** The value of canonical bytes; what only one longer encoding tells apart is refused where it stands. */
export function unpack(bytes, { longest = EVENT_MAX, deepest = DEPTH_MAX, most = Infinity } = {}) {
  must(bytes.length <= longest, "too long");
  const long = bytes.length > EVENT_MAX, containersMax = long ? CONTAINERS_MAX : most;
  let at = 0, containers = 0, elements = 0;
  const take = (count) => {
    must(count <= bytes.length - at, "cut off");
    return bytes.subarray(at, (at += count));
  };
  const number = (size) => BigInt("0x" + hex(take(size)));
  const lengthOf = (kind, first) => {
    const [short, head, longer] = heads[kind];
    if (first >= head && first <= head + short) return first - head;
    const found = longer.find(([, head]) => head === first);
    if (!found) return undefined;
    const length = Number(number(found[0]));
    must(headOf(kind, length)[0] === first, "a second encoding of the same length");
    return length;
  };
  function read(depth) {
    const first = take(1)[0];
    if (first < 0x80) return BigInt(first);
    if (first >= 0xe0) return BigInt(first - 256);
    if (first === 0xc0) return null;
    if (first === 0xc2 || first === 0xc3) return first === 0xc3;
    if (first === 0xcb) {
      const float = take(8).readDoubleBE();
      must(!Number.isNaN(float), "not a number");
      return float;
    }
    if (first >= 0xcc && first <= 0xd3) {
      const size = 1 << (first & 3), unsigned = number(size);
      const value = first >= 0xd0 ? BigInt.asIntN(8 * size, unsigned) : unsigned;
      must(packInt(value)[0] === first, "a second encoding of the same integer");
      return value;
    }
    let length = lengthOf("text", first);
    if (length !== undefined) {
      try {
        return utf8.decode(take(length));
      } catch {
        throw malformed("no UTF-8");
      }
    }
    length = lengthOf("bytes", first);
    if (length !== undefined) return take(length);
    const array = lengthOf("array", first), pairs = array ?? lengthOf("map", first);
    must(pairs !== undefined, "no value begins so");
    must(depth < deepest && ++containers <= containersMax, "nested too deep, or too many arrays and maps");
    elements += pairs;
    must(pairs <= bytes.length - at && (!long || elements <= 65536), "promises too much");
    if (array !== undefined) return Array.from({ length: array }, () => read(depth + 1));
    const map = new Map();
    for (let i = 0, before; i < pairs; i++) {
      const from = at, key = read(depth + 1), encoded = bytes.subarray(from, at);
      must(isText(key) && (i === 0 || compare(before, encoded) < 0), "keys are text, in order, each once");
      before = encoded;
      map.set(key, read(depth + 1));
    }
    return map;
  }
  const value = read(0);
  must(at === bytes.length, "something follows");
  return value;
}

/** Pieces of bundles and blobs: each a length in 4 bytes, big endian, and as many bytes. */
export function pieces(bytes, longest, most = Infinity) {
  const found = [];
  for (let at = 0; at < bytes.length; ) {
    must(bytes.length - at >= 4, "cut off");
    const length = bytes.readUInt32BE(at);
    must(length <= longest && length <= bytes.length - at - 4 && found.length < most, "a piece too long or too many");
    found.push(bytes.subarray(at + 4, (at += 4 + length)));
  }
  return found;
}
