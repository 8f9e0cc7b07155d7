// What statements rest on: beliefs.md, section 3, Twins and Derived claims.
import { hex, isArray, isInt, isText, pack } from "./canonical.mjs";
import { AFFIRM, CLAIM, DENY, ref } from "./events.mjs";
import { keyOf } from "./values.mjs";

const TIERS = [30n, 50n, 70n, 90n], AGENT = /^(assistant|agent)(:|$)/;
const isClaim = ({ kind }) => kind === CLAIM || kind === AFFIRM;
const least = (list) => list.reduce((a, b) => (a < b ? a : b));
const tierAbove = (trust) => TIERS.find((tier) => tier > trust) ?? trust;

/** What twins share, as text; undefined for an event that has no twins. */
export function passageOf({ log, kind, fields }) {
  if (kind > DENY || !isText(fields.extra?.get("episode"))) return undefined;
  const { entity, predicate, value, extra } = fields, way = kind === AFFIRM ? CLAIM : kind;
  const place = [extra.get("episode"), extra.get("span") ?? null];
  return hex(pack([log.scope, entity, predicate, way, place, keyOf(value, "casefold")]));
}

const isDerived = (claim) => claim.fields.extra?.has("derived_from") ?? false;

/** Of live claims those that are derived and not founded. `target`: the event that one means by a reference. */
export function unfounded(claims, target) {
  const without = new Set(), live = new Set(claims);
  const rootsOf = (claim) => {
    const named = claim.fields.extra.get("derived_from");
    return isArray(named) && named.every(ref) ? named.map((each) => target(claim, each)) : [];
  };
  const roots = new Map(claims.filter(isDerived).map((claim) => [claim, rootsOf(claim)]));
  // Whatever is founded is so after all that it rests on: what goes round in a circle never is.
  const founded = new Set(claims.filter((claim) => !roots.has(claim)));
  const stands = (claim) => {
    const named = roots.get(claim);
    if (!named.length || !named.every((root) => root && live.has(root) && founded.has(root))) return false;
    return claim.fields.trust <= least(named.map(({ fields }) => fields.trust)) || corroborated(claim, roots);
  };
  for (let found = true; found; ) {
    const more = [...roots.keys()].filter((claim) => !founded.has(claim) && stands(claim));
    for (const claim of more) founded.add(claim);
    found = more.length > 0;
  }
  for (const claim of roots.keys()) if (!founded.has(claim)) without.add(claim);
  return without;
}

function corroborated(claim, roots) {
  const wanted = claim.fields.extra.get("corroborated_by"), named = roots.get(claim), seen = new Set(), trusts = [];
  if (!isInt(wanted, 2n) || BigInt(named.length) < wanted) return false;
  const leaves = (root) => (roots.has(root) ? [...new Set(roots.get(root).flatMap(leaves))] : [root]);
  for (const root of named) {
    const said = leaves(root).map(({ fields }) => fields);
    if (said.some(({ sourceKind, sourceId }) => sourceKind === null && sourceId === null)) return false;
    const sources = new Set(said.filter(({ sourceKind }) => !AGENT.test(sourceKind ?? ""))
      .map(({ sourceKind, sourceId }) => JSON.stringify([sourceKind, sourceId])));
    if (!sources.size || [...sources].some((source) => seen.has(source))) return false;
    for (const source of sources) seen.add(source);
    trusts.push(root.fields.trust, ...said.map(({ trust }) => trust));
  }
  return claim.fields.trust <= tierAbove(least(trusts));
}
