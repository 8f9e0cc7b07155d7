// How events become beliefs: beliefs.md, section by section, over all events at once.
import { bigEndian, compare, greatest, hex, isInt, pack, sha256, unpack } from "./canonical.mjs";
import {
  AFFIRM, CLAIM, CLOCK_NOTE, DEFINE, DENY, DIFFERENT, EARLIEST, END, LATEST, RETRACT, SAME, UNDO, WITHDRAW,
} from "./events.mjs";
import { passageOf, unfounded } from "./evidence.mjs";
import { keyOf } from "./values.mjs";

export const FOREVER = 2n ** 62n;
const FIVE_MINUTES = 300_000_000n, NONE = pack(null);

const isClaim = ({ kind }) => kind === CLAIM || kind === AFFIRM;
const isStatement = ({ kind }) => kind <= DENY, isLink = ({ kind }) => kind === SAME || kind === DIFFERENT;
const less = (a, b) => compare(a, b) < 0;
const max = (a, b) => (a > b ? a : b), min = (a, b) => (a < b ? a : b);
function groupBy(list, nameOf) {
  const groups = new Map();
  for (const entry of list) {
    const name = nameOf(entry);
    if (!groups.has(name)) groups.set(name, []);
    groups.get(name).push(entry);
  }
  return groups;
}
function once(answer) {
  const answers = new Map();
  return (about) => {
    if (!answers.has(about)) answers.set(about, answer(about));
    return answers.get(about);
  };
}

/** The rectangles of a replica: {scope, entity, predicate, lane, from, to, value, trust, contested}, in no order. */
export function fold(replica) {
  const events = [...replica.events()].filter((event) => event.fields); // section 1
  const life = liveness(replica, events);
  const clock = once(clocks(replica, events, life));
  const settings = definitions(events, life, clock);
  const statements = events.filter(isStatement);
  const standing = names(events, life, clock);
  const slots = groupBy(statements, ({ log, fields: { entity, predicate } }) =>
    JSON.stringify([log.scope, standing(log.scope)(entity), predicate]));
  // An end may name a claim of another slot, so all are known that are live before any slot is folded.
  const said = [...slots].map(([name, statements]) => {
    const [scope, entity, predicate] = JSON.parse(name), like = settings(scope, predicate);
    return { slot: { scope, entity, predicate }, like, ...undenied(statements, like, life, clock) };
  });
  // And a claim may be derived from claims of other slots.
  const notDenied = said.flatMap(({ claims }) => claims.map(({ event }) => event));
  const without = unfounded(notDenied, life.target);
  const live = new Set(notDenied.filter((event) => !without.has(event)));
  return said.flatMap(({ slot, like, claims, ends }) => {
    const acting = ends.filter(({ event }) => !life.named(event) || live.has(life.named(event)));
    const founded = claims.filter(({ event, start, stop }) => live.has(event) && start < stop);
    return lanes(founded, acting, like).map((shown) => ({ ...slot, ...shown }));
  });
}

// --- Section 3: which events are live.

function liveness(replica, events) {
  const target = ({ log }, [name, place, id]) => {
    const found = replica.get(hex(name), place);
    return found && compare(found.id, id) === 0 && found.log.scope === log.scope ? found : undefined;
  };
  const mayAct = (actor, on) => {
    const a = actor.fields, b = on.fields;
    const stated = a.sourceKind !== null || a.sourceId !== null;
    const same = stated && a.sourceKind === b.sourceKind && a.sourceId === b.sourceId;
    return a.trust >= b.trust || (same && actor.log.device === on.log.device);
  };
  // Of each event that is read: who names it to undo it, and who to retract or correct it.
  const undos = new Map(), retractions = new Map(), reached = new Map();
  const note = (actors, actor, refs) => {
    for (const ref of refs) {
      const on = target(actor, ref);
      if (on?.fields) actors.set(on, [...(actors.get(on) ?? []), actor]);
    }
  };
  for (const event of events) {
    if (event.kind === UNDO) note(undos, event, event.fields.refs);
    if (event.kind === RETRACT || isClaim(event) || event.kind === DENY)
      note(retractions, event, event.fields.refs ?? []);
  }
  // A twin is retracted with what is named; corrections reach no twin that is a correction itself.
  const corrects = (event) => event.kind !== END && event.fields.refs?.length > 0;
  const passages = groupBy(events.filter(passageOf), passageOf);
  for (const [named, actors] of [...retractions])
    for (const twin of passages.get(isStatement(named) ? passageOf(named) : undefined) ?? [])
      if (twin !== named) {
        const reaching = actors.filter((actor) => actor.kind === RETRACT || !corrects(twin));
        reached.set(twin, [...(reached.get(twin) ?? []), ...reaching]);
      }
  for (const [twin, actors] of reached) retractions.set(twin, [...(retractions.get(twin) ?? []), ...actors]);

  const withdrawals = groupBy(events.filter(({ kind }) => kind === WITHDRAW),
    ({ log, fields }) => JSON.stringify([log.scope, fields.batch]));
  const withdrawalsOf = (event) => {
    const member = isStatement(event) || isLink(event) || event.kind === RETRACT || event.kind === DEFINE;
    const name = JSON.stringify([event.log.scope, event.fields.batch]);
    return member && event.fields.batch !== null ? withdrawals.get(name) ?? [] : [];
  };
  const of = (actors, event) => actors.get(event) ?? [];

  const stands = once((event) =>
    !replica.behindCut(event) && !of(undos, event).some((undo) => stands(undo) && mayAct(undo, event)));
  const acts = once((event) =>
    stands(event) && !withdrawalsOf(event).some((other) => stands(other) && mayAct(other, event)));
  const retracted = once((event) => of(retractions, event).some((other) => acts(other) && mayAct(other, event)));
  const disputed = (event) =>
    of(undos, event).some((other) => stands(other) && !mayAct(other, event)) ||
    withdrawalsOf(event).some((other) => stands(other) && !mayAct(other, event)) ||
    of(retractions, event).some((other) => acts(other) && !mayAct(other, event));
  const named = (end) => (end.fields.refs ?? []).map((ref) => target(end, ref)).find((on) => on?.fields && isClaim(on));
  return { acts, disputed, named, target, unretracted: (event) => acts(event) && !retracted(event) };
}

// --- Sections 2 and 4: clocks and definitions.

const clocks = (replica, events, life) => {
  const notes = events.filter((event) => event.kind === CLOCK_NOTE && life.acts(event));
  return ({ log, place, clock }) => {
    const counting = notes.filter((note) =>
      compare(note.fields.log, log.id) === 0 && note.fields.first <= place && place <= note.fields.last &&
      (note.log.device === log.device || note.fields.trust >= 90n));
    const best = greatest(counting, (note) => [note.fields.trust, note.clock, note.log.id, note.place]);
    return best ? max(EARLIEST, min(LATEST, clock + best.fields.offset)) : clock;
  };
};

function definitions(events, life, clock) {
  const defines = events.filter((event) => event.kind === DEFINE && life.acts(event));
  const standing = (scope, predicate) => greatest(
    defines.filter(({ log, fields }) => log.scope === scope && fields.predicate === predicate),
    (event) => [event.fields.trust, clock(event), event.log.id, event.place]);
  return (scope, predicate) => {
    const settings = (standing(scope, predicate) ?? standing("vault", predicate))?.fields.settings;
    return { single: settings?.get("cardinality") === "single", equality: settings?.get("equality") };
  };
}

/** Of each scope, under which name an entity stands there. */
function names(events, life, clock) {
  const links = events.filter((event) => isLink(event) && life.acts(event))
    .map((event) => ({ event, order: [event.fields.trust, clock(event), event.log.id, event.place] }))
    .sort((a, b) => compare(b.order, a.order)).map(({ event }) => event);
  return once((scope) => {
    const groups = new Map(), apart = [];
    const of = (name) => groups.get(name) ?? new Set([name]);
    for (const { kind, log, fields: { one, other } } of links) {
      if (log.scope !== scope && log.scope !== "vault") continue;
      const joined = of(one).has(other), parted = apart.some(([a, b]) =>
        (of(one).has(a) && of(other).has(b)) || (of(one).has(b) && of(other).has(a)));
      if (kind === DIFFERENT && !joined) apart.push([one, other]);
      if (kind === SAME && !joined && !parted) {
        const group = new Set([...of(one), ...of(other)]);
        for (const name of group) groups.set(name, group);
      }
    }
    return (name) => [...of(name)].reduce((least, each) => (compare(each, least) < 0 ? each : least));
  });
}

// --- Section 5: what a statement says.

const duration = (extra, name, anchor) => {
  const length = extra?.get(name);
  return isInt(length, 1n) && anchor + length <= LATEST ? anchor + length : FOREVER;
};

function says(event, equality, clockOf) {
  const { fields, log, place, kind } = event, { form, then, extra, trust } = fields;
  const clock = clockOf(event), observed = min(fields.observedAt ?? clock, clock), start = fields.start ?? observed;
  const late = fields.latestStart === null ? start : max(start, min(fields.latestStart, observed));
  const change = form === 1n, temporary = isClaim(event) && fields.stop !== null && then === 1n;
  const open = isClaim(event) && fields.stop === null;
  const anchor = temporary ? observed : (open || kind === END) && change ? late : max(late, observed);
  const stop = open ? duration(extra, "ttl", anchor) : fields.stop;
  const ages = open ? duration(extra, "stale_after", anchor) : FOREVER;
  const stale = extra?.get("stale_trust");
  const staleTrust = isInt(stale, 0n, 100n) ? min(trust, stale) : 0n;
  return ordered({
    event, kind, change, temporary, open, plain: open && form === 0n && fields.start === null, period: !open && !temporary,
    key: keyOf(fields.value, equality), value: pack(fields.value), device: log.device, log: log.id, place,
    observed, start, anchor, clock, stop, ages, staleTrust, trust, disputed: false,
  });
}
function ordered(said) {
  const { observed, start, anchor, clock, log, place } = said;
  const spoken = [observed, start, clock, log, place], rank = [anchor, ...spoken];
  const strength = said.period ? [start, ...spoken] : rank;
  return { ...said, spoken, rank, strength };
}
const sameKey = (a, b) => compare(a.key, b.key) === 0;

// --- Sections 6 and 9: a slot, its denials and its lanes.

function undenied(statements, { equality }, life, clock) {
  const said = statements.filter(life.unretracted).map((event) => says(event, equality, clock));
  const denials = said.filter(({ kind }) => kind === DENY), claims = said.filter(isClaim).filter((claim) => {
    const against = denials.filter((n) => sameKey(n, claim) && less(claim.spoken, n.spoken));
    claim.disputed = life.disputed(claim.event) || against.length > 0;
    return !against.some((n) => n.trust >= claim.trust);
  });
  return { claims, ends: said.filter(({ kind }) => kind === END) };
}

function lanes(claims, ends, { single }) {
  if (single) return lane(claims, ends).map((shown) => ({ ...shown, lane: Buffer.alloc(0) }));

  const keys = new Map([...claims, ...ends].map(({ key }) => [hex(key), key]));
  return [...keys.values()].flatMap((key) => {
    const ofNone = compare(key, NONE) === 0;
    const within = (entry) => ofNone || sameKey(entry, { key }) || compare(entry.key, NONE) === 0;
    const name = sha256(key).subarray(0, 16);
    return lane(claims.filter(within), ends.filter(within))
      .filter(({ value }) => (compare(value, NONE) === 0) === ofNone)
      .map((shown) => ({ ...shown, lane: name }));
  });
}

// --- Section 7: who holds when.

function lane(claims, stated) {
  const temporaries = claims.filter(({ temporary }) => temporary);
  const pieces = claims.flatMap((claim) => {
    const from = claim.start, base = { ...claim, claim, from, until: claim.stop, remainder: false };
    const supports = temporaries.filter((b) =>
      claim.plain && sameKey(b, claim) && b.trust >= claim.trust && b.start <= claim.observed && claim.observed < b.stop);
    if (supports.length) {
      const stop = supports.map(({ stop }) => stop).reduce(max);
      return [ordered({ ...base, temporary: true, kind: AFFIRM, anchor: claim.observed, stop, until: stop })];
    }
    if (claim.ages === FOREVER) return [base];
    const rest = { ...base, trust: claim.staleTrust, from: claim.ages, remainder: true };
    return [{ ...base, until: min(claim.stop, claim.ages) }, rest];
  });
  const rays = pieces.filter(({ temporary, remainder }) => !temporary && !remainder);
  // A ray has the trust of its claim, and that of a first piece is the same.
  const ofPeriods = rays.filter(({ period }) => period)
    .map((p) => ordered({ ...p, change: true, period: false, start: p.stop, anchor: p.stop }));
  const ends = [...stated, ...ofPeriods];

  const closes = (d, c) => d.claim !== c.claim && d.trust >= c.trust && (c.temporary
    ? d.kind === CLAIM && d.start > c.start && less(c.spoken, d.spoken)
    : less(c.rank, d.strength));
  const speaksAbout = (e, c) => sameKey(e, c) &&
    (e.change ? c.start < e.start : c.start <= e.observed) &&
    (c.temporary ? less(c.spoken, e.spoken) : less(c.rank, e.rank));
  for (const c of pieces) {
    c.closers = rays.filter((d) => closes(d, c));
    c.speakers = ends.filter((e) => speaksAbout(e, c));
    c.ended = c.speakers.filter((e) => e.trust >= c.trust).map(({ start }) => start).reduce(min, c.until);
    c.to = c.closers.map(({ start }) => start).reduce(min, c.ended);
  }
  return rectangles(pieces, tiedOut(rays));
}

// --- Section 8: what is contested.

const tied = (a, b) => {
  const apart = a.observed - b.observed;
  return a.trust === b.trust && a.device !== b.device && -FIVE_MINUTES <= apart && apart <= FIVE_MINUTES;
};
/** Which pieces are tied out at an instant. */
const tiedOut = (candidates) => (t) => candidates.filter((c) => {
  if (t < c.from || t >= c.ended) return false;
  const earlier = greatest(c.closers.filter((d) => d.start <= c.start), (d) => [d.trust, d.strength]);
  const against = c.closers.filter((d) => d.start > c.start && d.start <= t);
  return [...against, ...(earlier ? [earlier] : [])].every((d) => tied(c, d));
});
const standing = ({ trust, temporary }) => [trust, temporary ? 1n : 0n];

function contested(w, t, covering, tiedOutAt) {
  const others = (pieces) => pieces.filter((piece) => !sameKey(piece, w));
  return w.disputed ||
    w.speakers.some((e) => e.trust < w.trust && e.start <= t) ||
    others(covering).some((c) => c.observed > w.observed && less(standing(c), standing(w))) ||
    others([...covering, ...tiedOutAt(t)]).some((c) => tied(c, w));
}

// --- Section 10: rectangles.

function rectangles(pieces, tiedOutAt) {
  const instants = pieces.flatMap((c) =>
    [c.from, c.to, c.ended, ...c.closers.map((d) => d.start), ...c.speakers.map((e) => e.start)]);
  const bounds = [...new Set(instants)].sort(compare), found = [];
  for (let i = 0; i + 1 < bounds.length; i++) {
    const from = bounds[i], covering = pieces.filter((c) => c.from <= from && from < c.to);
    const w = greatest(covering, (c) => [standing(c), c.rank]);
    if (!w) continue;
    const next = { from, to: bounds[i + 1], value: w.value, trust: w.trust, contested: contested(w, from, covering, tiedOutAt) };
    const last = found.at(-1);
    const same = last && last.to === from && last.trust === next.trust && last.contested === next.contested &&
      compare(last.value, next.value) === 0;
    if (same) last.to = next.to;
    else found.push(next);
  }
  return found;
}

/** The sum over a scope's rectangles (README.md, Blob). */
export function beliefDigest(rectangles) {
  const sum = rectangles.reduce((sum, { entity, predicate, lane, from, to, value, trust, contested }) => {
    const row = [entity, predicate, lane, from, to, unpack(value), trust, contested ? 1n : 0n];
    return sum + BigInt("0x" + hex(sha256(pack(row))));
  }, 0n);
  return bigEndian(sum, 32);
}
