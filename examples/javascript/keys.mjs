// Keys, wraps, codes, envelopes and blobs (README.md, Keys, Envelope, Blob; pairing.md).
import {
  createDecipheriv, createCipheriv, createPrivateKey, createPublicKey, diffieHellman, hkdfSync, timingSafeEqual,
} from "node:crypto";
import {
  Fault, PLACE_MAX, bigEndian, compare, concat, hmac, invalid, isArray, isBytes, isInt, isText, must, pack,
  pieces, sha256, signed, unpack,
} from "./canonical.mjs";

export const COUNTER_MAX = 10n ** 12n - 1n;
const unreadable = (why) => new Fault("unreadable", why);

export function derive(key, label, length) {
  let block = Buffer.alloc(0), all = block;
  for (let i = 1; all.length < length; i++) all = concat(all, (block = hmac(key, block, label, Buffer.of(i))));
  return all.subarray(0, length);
}

// Node takes keys with what says of which sort they are before their 32 bytes.
const sorts = { Ed25519: "70", X25519: "6e" };
const privateKey = (sort, bytes) => createPrivateKey({
  key: concat(Buffer.from(`302e020100300506032b65${sorts[sort]}04220420`, "hex"), bytes), format: "der", type: "pkcs8",
});
const publicKey = (sort, bytes) => createPublicKey({
  key: concat(Buffer.from(`302a300506032b65${sorts[sort]}032100`, "hex"), bytes), format: "der", type: "spki",
});
const publicOf = (key) => createPublicKey(key).export({ format: "der", type: "spki" }).subarray(-32);
const ed25519 = (seed) => publicOf(privateKey("Ed25519", seed));
const transportKey = (seed) => privateKey("X25519", derive(seed, "syncmem/v1/transport\0", 32));

/** Whether an X25519 key is of small order: then whatever is agreed with it is zero, and Node refuses. */
export function isWeak(transport) {
  try {
    diffieHellman({ privateKey: privateKey("X25519", Buffer.alloc(32, 1)), publicKey: publicKey("X25519", transport) });
    return false;
  } catch {
    return true;
  }
}

export const deviceKeys = (seed) => ({ device: ed25519(seed), transport: publicOf(transportKey(seed)) });
export const dropKey = (seed, mailbox) => ed25519(derive(seed, concat("syncmem/v1/drop\0", mailbox), 32));
export const mailboxOf = (writeKey) => sha256("syncmem/v1/mailbox\0", writeKey).subarray(0, 16);
export function epochKeys(epochKey) {
  const writeKey = ed25519(derive(epochKey, "syncmem/v1/write\0", 32));
  return { writeKey, mailbox: mailboxOf(writeKey), namesKey: derive(epochKey, "syncmem/v1/names\0", 32) };
}
/** What a mailbox and a relay agree on: the same from either side, each with its own private key. */
const agree = (own, other, ...context) => {
  let both;
  try {
    both = diffieHellman({ privateKey: privateKey("X25519", own), publicKey: publicKey("X25519", other) });
  } catch {
    throw unreadable("nothing can be agreed on with that key");
  }
  return Buffer.from(hkdfSync("sha256", both, Buffer.alloc(0), concat("syncmem/v1/shared\0", ...context), 32));
};
export function agreedByMailbox(epochKey, relayKey) {
  const writeSeed = derive(epochKey, "syncmem/v1/write\0", 32), own = derive(writeSeed, "syncmem/v1/agreement\0", 32);
  const agreement = publicOf(privateKey("X25519", own));
  return { agreement, shared: agree(own, relayKey, ed25519(writeSeed), agreement, relayKey) };
}
export function agreedByRelay(relaySeed, writeKey, agreement) {
  const relayKey = publicOf(privateKey("X25519", relaySeed));
  return { relayKey, shared: agree(relaySeed, agreement, writeKey, agreement, relayKey) };
}
/** The shelf of an episode's content: a mailbox of its own. */
export function shelfOf(epochKey, event) {
  const { mailbox, namesKey } = epochKeys(derive(epochKey, concat("syncmem/v1/content\0", event), 32));
  return { mailbox, stream: streamOf(namesKey, event) };
}
export const streamOf = (namesKey, log) => hmac(namesKey, log).subarray(0, 8);

/** What follows from the code of a pairing: "SYNCMEM-" and base 32 of data and checksum. */
export function readCode(typed) {
  const code = typed.replace(/\s/g, "").toUpperCase();
  if (!/^SYNCMEM-[A-Z2-7]+$/.test(code)) throw invalid("no code");
  const bits = [...code.slice(8)].map((c) => "ABCDEFGHIJKLMNOPQRSTUVWXYZ234567".indexOf(c).toString(2).padStart(5, "0"));
  const bytes = Buffer.from(bits.join("").match(/.{8}/g)?.map((byte) => parseInt(byte, 2)) ?? []);
  const data = bytes.subarray(0, -4);
  if (compare(sha256(data).subarray(0, 4), bytes.subarray(-4)) !== 0) throw invalid("a code that is not whole");
  const parts = unpack(data);
  if (!isArray(parts, 3) || parts[0] !== 1n || !isBytes(parts[1], 16) || !isText(parts[2])) throw invalid("another code");
  const [, secret, address] = parts;
  return { secret, address, place: derive(concat(secret, Buffer.alloc(16)), "syncmem/v1/invitation\0", 32) };
}

// --- HPKE (RFC 9180), base mode, DHKEM(X25519, HKDF-SHA256), HKDF-SHA256, ChaCha20-Poly1305: one message is opened.

const KEM = concat("KEM", Buffer.of(0, 0x20)), HPKE = concat("HPKE", Buffer.of(0, 0x20, 0, 1, 0, 3));
const extract = (suite, salt, label, secret) => hmac(salt, "HPKE-v1", suite, label, secret);
const expand = (suite, key, label, info, length) =>
  derive(key, concat(bigEndian(length, 2), "HPKE-v1", suite, label, info), length);

function openFor(seed, info, encapsulated, ciphertext) {
  const key = transportKey(seed), nothing = Buffer.alloc(0);
  const agreed = diffieHellman({ privateKey: key, publicKey: publicKey("X25519", encapsulated) });
  const prk = extract(KEM, nothing, "eae_prk", agreed);
  const shared = expand(KEM, prk, "shared_secret", concat(encapsulated, publicOf(key)), 32);
  const hashOf = (label, of) => extract(HPKE, nothing, label, of);
  const context = concat(Buffer.of(0), hashOf("psk_id_hash", nothing), hashOf("info_hash", info));
  const secret = extract(HPKE, shared, "secret", nothing);
  return decrypt(expand(HPKE, secret, "key", context, 32), expand(HPKE, secret, "base_nonce", context, 12), ciphertext);
}
function decrypt(key, nonce, sealed, aad = Buffer.alloc(0)) {
  const cipher = createDecipheriv("chacha20-poly1305", key, nonce, { authTagLength: 16 });
  cipher.setAAD(aad).setAuthTag(sealed.subarray(-16));
  return concat(cipher.update(sealed.subarray(0, -16)), cipher.final());
}

export function unwrap(wrap, seed, vault, scope) {
  if (wrap.length !== 112) throw unreadable("a wrap has 112 bytes");
  const info = concat("syncmem/v1/wrap\0", pack([vault, scope, ed25519(seed)]));
  try {
    const keys = openFor(seed, info, wrap.subarray(0, 32), wrap.subarray(32));
    return [keys.subarray(0, 32), keys.subarray(32)];
  } catch {
    throw unreadable("a wrap does not open");
  }
}

// --- Envelopes.

const HEAD = 4 + 1 + 8 + 24 + 32, AROUND = HEAD + 16, ENVELOPE_MAX = 2 ** 20;
/** Two small sizes, then Padmé: of a length all but the first few bits are zero; how many bits those are grows with the length. */
export function paddedLength(length) {
  if (length <= 512) return length <= 256 ? 256 : 512;
  const exponent = Math.floor(Math.log2(length)), unit = 2 ** (exponent - Math.floor(Math.log2(exponent)) - 1);
  return Math.ceil(length / unit) * unit;
}
const aadOf = (vault, epoch, epochKey, length) => concat("syncmem/v1/envelope\0",
  pack([1n, vault, epoch, epochKeys(epochKey).mailbox, BigInt(length)]));
const messageKeys = (epochKey, salt) => {
  const keys = derive(epochKey, concat("syncmem/v1/message\0", salt), 64);
  return [keys.subarray(0, 32), keys.subarray(32)];
};

export function seal(plaintext, { epochKey, epoch, vault, random }) {
  const length = paddedLength(plaintext.length + 4 + AROUND);
  if (length > ENVELOPE_MAX) throw invalid("too long for an envelope");
  const zeros = Buffer.alloc(length - AROUND - 4 - plaintext.length);
  const padded = concat(bigEndian(plaintext.length, 4), plaintext, zeros);
  const aad = aadOf(vault, epoch, epochKey, padded.length);
  const salting = derive(epochKey, "syncmem/v1/salting\0", 32);
  const salt = hmac(salting, random, sha256(aad), sha256(padded)).subarray(0, 24);
  const [key, proof] = messageKeys(epochKey, salt);
  const cipher = createCipheriv("chacha20-poly1305", key, Buffer.alloc(12), { authTagLength: 16 }).setAAD(aad);
  const sealed = concat(cipher.update(padded), cipher.final());
  return concat("SMv1", Buffer.of(1), epoch.subarray(0, 8), salt, proof, sealed, cipher.getAuthTag());
}

export function open(envelope, { epochKey, epoch, vault }) {
  const { length } = envelope;
  must(length >= 256 && length <= ENVELOPE_MAX && paddedLength(length) === length, "no size of an envelope");
  must(compare(envelope.subarray(0, 5), concat("SMv1", Buffer.of(1))) === 0, "another magic or suite");
  if (compare(envelope.subarray(5, 13), epoch.subarray(0, 8)) !== 0) throw unreadable("another epoch");
  const salt = envelope.subarray(13, 37), [key, proof] = messageKeys(epochKey, salt);
  if (!timingSafeEqual(proof, envelope.subarray(37, HEAD))) throw unreadable("the proof does not fit");
  let padded;
  try {
    padded = decrypt(key, Buffer.alloc(12), envelope.subarray(HEAD), aadOf(vault, epoch, epochKey, length - AROUND));
  } catch {
    throw unreadable("the tag does not fit");
  }
  const end = 4 + padded.readUInt32BE();
  must(end <= padded.length && paddedLength(end + AROUND) === length, "the length does not fit");
  must(padded.subarray(end).every((byte) => byte === 0), "the padding is not zero");
  return padded.subarray(4, end);
}

// --- Blobs.

const counter = (value, least = 1n) => isInt(value, least, COUNTER_MAX);
const rows = (value, check) => isArray(value) && value.every((row) => isArray(row) && check(row));
export const isName = (row) => row.length === 3 && isBytes(row[0], 8) && counter(row[1]) && isBytes(row[2], 16);
const items = new Map([
  [3, (wants) => rows(wants, (row) => row.length === 2 && isBytes(row[0], 16) && isInt(row[1], 0n, PLACE_MAX))],
  [7, (lacks) => rows(lacks, (row) => row.length === 2 && isBytes(row[0], 16) && isInt(row[1], 0n, PLACE_MAX))],
  [8, (notes) => rows(notes, (row) => row.length === 3 && isInt(row[0], 1n, PLACE_MAX) && isInt(row[1], 0n, 2n ** 62n - 1n)
    && rows(row[2], (entry) => entry.length === 2 && isBytes(entry[0], 8) && isInt(entry[1], 0n, COUNTER_MAX)))],
  [4, (list) => rows(list, (row) => row.length === 3 && isBytes(row[0], 8) && counter(row[1]) && counter(row[2]))],
  [5, (offer) =>
    isArray(offer, 3) && isBytes(offer[0], 32) && isBytes(offer[1], 64) && rows(offer[2], isName) && offer[2].length > 0],
]);

export function readBlob(bytes, vault, mailbox, writer) {
  const parts = pieces(bytes, 256 * 1024, 4096), [first, ...rest] = parts, signature = rest.pop();
  must(signature?.length === 64, "a blob begins with a head and ends with a signature");
  const head = unpack(first);
  must(isArray(head, 5) && head[0] === 1n && counter(head[3]), "the head");
  const [, , , number, state] = head, unnamed = head[1] === null && head[2] === null;
  if (unnamed && !writer) throw new Fault("gap", "nobody is known to write there");
  const [device, incarnation] = unnamed ? writer : head.slice(1, 3);
  must(isBytes(device, 32) && isBytes(incarnation, 16), "the writer");
  must(state === null ||
    (isArray(state, 3) && isBytes(state[0], 16) && isBytes(state[1], 16) && isInt(state[2], 0n)), "the state");
  const read = rest.map((piece) => {
    must(piece.length > 0, "an item begins with its kind");
    const kind = piece[0], inside = piece.subarray(1);
    if (!items.has(kind)) return [kind, inside]; // frames and statements are read by whoever takes them in
    const says = unpack(inside, { longest: 256 * 1024 });
    must(items.get(kind)(says), "what an item says");
    return [kind, says];
  });
  const before = bytes.subarray(0, bytes.length - 68);
  if (!signed(device, signature, "syncmem/v1/blob\0", vault, mailbox, sha256(before))) throw unreadable("not signed by its device");
  return { device, incarnation, counter: number, state, items: read };
}
