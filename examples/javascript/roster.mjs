// The roster: its statements, and who belongs to a vault by them (README.md, Roster; the numbers are those of its rules).
import {
  Fault, PLACE_MAX, ascends, compare, greatest, hex, isArray, isBytes, isInt, isText, must, pack,
  sha256, signed, unpack,
} from "./canonical.mjs";
import { deviceKeys, isWeak, unwrap } from "./keys.mjs";

const GENESIS = 1n, ADD = 2n, REVOKE = 3n, EPOCH = 4n, NAME = 5n, GRANT = 6n, ADOPT = 7n;
const NOBODY = Buffer.alloc(16);
const unreadable = (why) => new Fault("unreadable", why);

const between = (value, least, most) => isText(value) && Buffer.byteLength(value) >= least && Buffer.byteLength(value) <= most;
const name = (value) => between(value, 1, 256);
const key = (value) => isBytes(value, 32), id = (value) => isBytes(value, 16);
const list = (value, most, fields, order) => isArray(value) && value.length <= most &&
  value.every((row) => isArray(row, fields.length) && fields.every((check, i) => check(row[i]))) && ascends(value, order);
const place = (value) => isInt(value, 0n, PLACE_MAX), wrap = (value) => isBytes(value, 112);
const member = (value) => isArray(value, 4) && key(value[0]) && key(value[1]) && name(value[2]) && isBytes(value[3], 64);
const grants = (value) => list(value, 128, [name, id, wrap], ([scope, epoch]) => [scope, epoch]);
const cuts = (value) => list(value, 1024, [id, place, key], ([log]) => log);
const wraps = (value) => list(value, 51, [key, wrap], ([device]) => device);
const orNil = (check) => (value) => value === null || check(value);
const bodies = new Map([
  [GENESIS, { suite: (v) => v === 1n, nonce: id, member, paper: orNil(member), recovery: orNil(key) }],
  [ADD, { member, grants }],
  [REVOKE, { device: key, cuts, wipe: (v) => typeof v === "boolean", reason: orNil((v) => between(v, 0, 1024)) }],
  [EPOCH, { scope: name, wraps, keyMark: key, subjectMark: key }],
  [NAME, { device: key, name }],
  [GRANT, { device: key, grants }],
  [ADOPT, { log: id, place, head: key }],
]);

/** What a statement says; `body` is null where its kind is not known. */
export function readStatement(bytes) {
  const pair = unpack(bytes);
  must(isArray(pair, 2) && isBytes(pair[0]) && isBytes(pair[1], 64), "content and signature");
  const content = unpack(pair[0]);
  must(isArray(content, 6), "six parts");
  const [kind, vault, parents, signer, time, fields] = content, genesis = kind === GENESIS;
  must(isInt(kind, 0n) && id(vault) && key(signer) && isInt(time, -(2n ** 62n), 2n ** 62n), "kind, vault, signer, time");
  must(isArray(parents) && parents.length <= 256 && parents.every(id) && ascends(parents), "parents");
  must(genesis === (compare(vault, NOBODY) === 0) && genesis === !parents.length, "a genesis alone names none");
  must(isArray(fields), "a body");
  let body = null;
  if (bodies.has(kind)) {
    const checks = Object.entries(bodies.get(kind));
    must(fields.length >= checks.length && checks.every(([, check], i) => check(fields[i])), "what its kind says");
    body = Object.fromEntries(checks.map(([name], i) => [name, fields[i]]));
  }
  if (!signed(signer, pair[1], "syncmem/v1/statement\0", pair[0])) throw unreadable("not signed by its signer");
  if (genesis) must(compare(body.member[0], signer) === 0, "the signer of a genesis is its member");
  if (genesis && body.paper) must(compare(body.paper[0], signer) !== 0, "the paper member is another");
  for (const [listed, founder] of [[body?.member, null], [body?.paper, signer]]) {
    if (!listed) continue;
    must(!isWeak(listed[1]), "a transport key of small order");
    if (!signed(listed[0], listed[3], "syncmem/v1/member\0", pack([listed[1], founder]))) throw unreadable("a wrong proof");
  }
  const own = sha256("syncmem/v1/roster\0", pair[0]).subarray(0, 16);
  return { id: own, kind, vault: genesis ? own : vault, parents, signer, time, body };
}

/** The statements of the vault whose ancestors are all known, with place and past; and the ids that are missing. */
function arranged(read) {
  const geneses = [...new Map(read.filter(({ kind }) => kind === GENESIS).map((s) => [hex(s.id), s])).values()];
  must(geneses.length === 1, "a roster has one genesis");
  const vault = geneses[0].id, known = new Map(), missing = new Map();
  for (const s of read) if (compare(s.vault, vault) === 0) known.set(hex(s.id), { ...s, by: hex(s.signer) });
  let waiting = [...known.values()], before;
  const done = new Map();
  do {
    before = waiting.length;
    waiting = waiting.filter((s) => {
      const parents = s.parents.map((parent) => done.get(hex(parent)));
      if (parents.includes(undefined)) return true;
      s.past = new Set(parents.flatMap((parent) => [parent, ...parent.past]));
      s.place = [parents.reduce((depth, parent) => Math.max(depth, parent.place[0] + 1), 0), s.id];
      done.set(hex(s.id), s);
      return false;
    });
  } while (waiting.length < before);
  for (const s of waiting)
    for (const parent of s.parents) if (!known.has(hex(parent))) missing.set(hex(parent), parent);
  return { vault, all: [...done.values()], missing: [...missing.values()].sort(compare) };
}

const first = (list, of = ({ place }) => place) => list.sort((a, b) => compare(of(a), of(b)))[0];
const vouches = ({ kind, body }) =>
  kind === ADD ? [body.member] : kind === GENESIS ? [body.member, ...(body.paper ? [body.paper] : [])] : [];
const vouchesFor = (s, device) => vouches(s).some(([key]) => hex(key) === device);

/** Rules 1 to 5, over a set that holds the ancestors of its statements. */
function resolve(all, paper) {
  const stand = all.filter((s) => s.kind === GENESIS || (standsIn(s, paper)));
  const voided = new Set(), counting = new Set(), holds = (s) => !voided.has(s);
  const spread = () => { // rule 2
    for (let before = -1; before !== voided.size; ) {
      before = voided.size;
      for (const s of stand)
        if (s.kind !== GENESIS && !stand.some((v) => s.past.has(v) && holds(v) && vouchesFor(v, s.by))) voided.add(s);
    }
  };
  const seniority = (device) => device === paper ? [-1, NOBODY]
    : first(stand.filter((s) => holds(s) && vouchesFor(s, device)))?.place ?? [Infinity, NOBODY];
  spread();
  for (;;) { // rule 3
    const next = first(stand.filter((s) => s.kind === REVOKE && holds(s) && !counting.has(s)),
      (s) => [seniority(s.by), hex(s.body.device) === s.by ? 0 : 1, s.place]);
    if (!next) break;
    counting.add(next);
    for (const s of stand)
      if (s.by === hex(next.body.device) && s !== next && !next.past.has(s)) voided.add(s);
    spread();
  }
  for (const s of stand) if (s.kind !== REVOKE && holds(s)) counting.add(s); // rule 4
  const counts = [...counting].sort((a, b) => compare(a.place, b.place));
  const members = new Map(counts.flatMap(vouches).map((listed) => [hex(listed[0]), listed]).reverse());
  const revoked = new Set(counts.filter(({ kind }) => kind === REVOKE).map(({ body }) => hex(body.device)));
  return { counts, members, revoked, seniority, isLive: (device) => members.has(device) && !revoked.has(device) };
}
function standsIn(s, paper) { // rule 1; whether a statement stands does not depend on what comes later
  s.stands ??= resolve([...s.past], paper).isLive(s.by) &&
    (s.kind !== REVOKE || hex(s.body.device) !== paper || s.by === paper);
  return s.stands;
}

/** Rules 7 and 8: of each scope that was founded its good epochs, and the current one or null. */
function scopesOf({ counts, seniority, isLive }) {
  const epochs = counts.filter(({ kind }) => kind === EPOCH), scopes = new Map();
  const given = counts.filter(({ kind }) => kind === ADD || kind === GRANT).flatMap((s) => {
    const device = hex(s.kind === ADD ? s.body.member[0] : s.body.device);
    return s.body.grants.map(([scope, epoch]) => ({ s, device, scope, epoch: hex(epoch) }));
  });
  for (const scope of new Set(epochs.map(({ body }) => body.scope))) {
    const own = epochs.filter(({ body }) => body.scope === scope);
    const founding = first(own.filter((e) => !own.some((other) => e.past.has(other))), (e) => [seniority(e.by), e.place]);
    const good = new Set([founding]), goodGrants = [];
    const has = (device, past) =>
      [...good].some((e) => past.has(e) && (e.by === device || e.body.wraps.some(([to]) => hex(to) === device))) ||
      goodGrants.some((g) => past.has(g.s) && (g.s.by === device || g.device === device));
    for (const s of counts) { // ascending by place: what is in a statement's past comes before it
      const marked = s.kind === EPOCH && s.body.scope === scope && compare(s.body.subjectMark, founding.body.subjectMark) === 0;
      if (marked && has(s.by, s.past)) good.add(s);
      const named = given.filter((g) => g.s === s && g.scope === scope);
      if (named.length && has(s.by, s.past))
        goodGrants.push(...named.filter((g) => [...s.past].some((e) =>
          e.kind === EPOCH && e.body.scope === scope && hex(e.id) === g.epoch)));
    }
    const knows = (e) => [e.by, ...e.body.wraps.map(([to]) => hex(to)),
      ...goodGrants.filter((g) => g.epoch === hex(e.id)).flatMap((g) => [g.s.by, g.device])];
    const last = [...good].filter((e) => ![...good].some((other) => other.past.has(e)) && knows(e).every(isLive));
    scopes.set(scope, { good, current: first(last, ({ id }) => id)?.id ?? null });
  }
  return scopes;
}

/** Rule 6: behind which place of a log nothing is believed, or null. */
function cutOf({ counts, members }, device, log) {
  const adopts = counts.filter((s) => s.kind === ADOPT && hex(s.body.log) === log);
  const highest = (list, least) => list.reduce((place, { body }) => (body.place > place ? body.place : place), least);
  if (!members.has(device)) return highest(adopts, 0n);
  const left = counts.filter((s) => s.kind === REVOKE && hex(s.body.device) === device).map((r) => {
    const named = r.body.cuts.find(([other]) => hex(other) === log);
    return highest(adopts.filter((s) => s.past.has(r)), named?.[1] ?? 0n);
  });
  return left.length ? left.sort(compare)[0] : null;
}

/** The keys that an owner of a seed was given and that fit the marks of their epochs. */
function keysOf(vault, counts, seed) {
  const device = hex(deviceKeys(seed).device), keys = {};
  const wrapped = counts.flatMap((s) => {
    if (s.kind === EPOCH) return s.body.wraps.map(([to, wrap]) => [hex(to), hex(s.id), wrap]);
    const to = s.kind === ADD ? s.body.member[0] : s.kind === GRANT ? s.body.device : null;
    return to ? s.body.grants.map(([, epoch, wrap]) => [hex(to), hex(epoch), wrap]) : [];
  });
  for (const [to, id, wrap] of wrapped) {
    const epoch = counts.find((s) => s.kind === EPOCH && hex(s.id) === id);
    if (to !== device || !epoch) continue;
    try {
      const [epochKey, subjectKey] = unwrap(wrap, seed, vault, epoch.body.scope);
      const fits = compare(sha256("syncmem/v1/epoch\0", epochKey), epoch.body.keyMark) === 0 &&
        compare(sha256("syncmem/v1/subjects\0", subjectKey), epoch.body.subjectMark) === 0;
      if (fits) keys[id] = [hex(epochKey), hex(subjectKey)];
    } catch (fault) {
      if (!(fault instanceof Fault)) throw fault; // rubbish is no key
    }
  }
  return keys;
}

export function roster(statements, logs, seed) {
  const { vault, all, missing } = arranged(statements.map(readStatement));
  const genesis = all.find(({ kind }) => kind === GENESIS), paper = genesis.body.paper && hex(genesis.body.paper[0]);
  const found = resolve(all, paper), { counts, members, revoked, seniority } = found;
  const seniors = (devices) => [...devices].sort((a, b) =>
    compare([seniority(a), Buffer.from(a)], [seniority(b), Buffer.from(b)]));
  const names = [...members].map(([device, listed]) => {
    const last = greatest(counts.filter((s) => s.kind === NAME && hex(s.body.device) === device), ({ place }) => place);
    return [device, last?.body.name ?? listed[2]];
  });
  return {
    vault: hex(vault), live: seniors([...members.keys()].filter(found.isLive)), revoked: seniors(revoked),
    names: Object.fromEntries(names), missing: missing.map(hex),
    epochs: Object.fromEntries([...scopesOf(found)].map(([scope, { current }]) => [scope, current && hex(current)])),
    cuts: logs.map(([device, log]) => cutOf(found, device, log)),
    keys: seed ? keysOf(vault, counts, seed) : {},
  };
}
