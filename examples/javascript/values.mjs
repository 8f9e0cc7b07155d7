// When two values are the same: their keys (beliefs.md, section 4).
import { readFileSync } from "node:fs";
import { isArray, isText, pack } from "./canonical.mjs";

/** Where characters begin that Unicode 14.0 assigns, and that it does not, in turn; those stand for themselves. */
const distances = readFileSync(new URL("../../protocol/unicode-14.txt", import.meta.url), "ascii").split(/\s+/).filter(Boolean);
let edge = 0;
const edges = distances.map((distance) => (edge += parseInt(distance, 36)));
const hex = (code) => `\\u{${code.toString(16)}}`;
const ranges = edges.flatMap((first, i) => (i % 2 ? [] : [`${hex(first)}-${hex(edges[i + 1] - 1)}`]));
const YOUNGER = new RegExp(`([^${ranges.join("")}]+)`, "u");
const byPieces = (text, change) => text.split(YOUNGER).map((piece, i) => (i % 2 ? piece : change(piece))).join("");

export const nfc = (text) => byPieces(text, (piece) => piece.normalize("NFC"));
function exact(value) {
  if (isText(value)) return nfc(value);
  if (isArray(value)) return value.map(exact);
  if (!(value instanceof Map)) return value;
  const keys = [...value.keys()].map(nfc), clash = new Set(keys).size < keys.length;
  return new Map([...value].map(([key, entry]) => [clash ? key : nfc(key), exact(entry)]));
}

const SPACE = /[\t-\r\x1c-\x20\x85\xa0\u1680\u2000-\u200a\u2028\u2029\u202f\u205f\u3000]+/u;

/**
 * Full case folding of one character. JavaScript has none; what it has gives the same by going down, up and down again,
 * but for the dotless i, which folds to itself, and Cherokee, which folds to capitals.
 */
function foldCharacter(character) {
  if (character === "\u0131") return character;
  const lower = character.toLowerCase();
  if (/\p{Script=Cherokee}/u.test(character)) return lower.toUpperCase();
  return [...lower.toUpperCase()].map((part) => part.toLowerCase()).join("");
}
function casefold(text) {
  const folded = byPieces(text, (piece) => [...piece.normalize("NFD")].map(foldCharacter).join("").normalize("NFC"));
  return folded.split(SPACE).filter((word) => word).join(" ");
}

function decimal(text) {
  const [, sign, digits, fraction = ""] = /^([+-]?)([0-9]+)(?:\.([0-9]+))?$/.exec(text);
  const whole = digits.replace(/^0+(?=[0-9])/, ""), rest = fraction.replace(/0+$/, "");
  const amount = rest ? `${whole}.${rest}` : whole;
  return sign === "-" && amount !== "0" ? "-" + amount : amount;
}
function withoutExponent(float) {
  const [, sign, whole, fraction = "", exponent = "0"] = /^(-?)(\d+)(?:\.(\d+))?(?:e([+-]\d+))?$/.exec(String(float));
  const digits = whole + fraction, point = whole.length + Number(exponent);
  if (point <= 0) return `${sign}0.${"0".repeat(-point)}${digits}`;
  return `${sign}${digits.slice(0, point).padEnd(point, "0")}.${digits.slice(point) || "0"}`;
}
function number(value) {
  if (typeof value === "bigint") return String(value);
  if (typeof value === "number") return decimal(withoutExponent(value));
  return isText(value) && /^[+-]?[0-9]+(\.[0-9]+)?$/.test(value) ? decimal(value) : exact(value);
}

const DATE = new RegExp(
  "^(\\d{4})-(?:(?:Q([1-4])|(3[3-6]))|(?:(\\d\\d)-(\\d\\d)|W(\\d\\d)-([1-7]))" +
  "(?:[T ](\\d\\d):(\\d\\d)(?::(\\d\\d)(?:\\.(\\d+))?)?(Z|[+-]\\d\\d(?::?\\d\\d)?)?)?)([~?%]?)$");
const utc = (year, month, day) => {
  const date = new Date(0);
  date.setUTCFullYear(year, month - 1, day);
  return date;
};
function dayOf(year, month, day, week, weekday) {
  if (month) {
    const date = utc(year, month, day);
    return date.getUTCMonth() === month - 1 && date.getUTCDate() === Number(day) ? date : null;
  }
  const fourth = utc(year, 1, 4), monday = 4 - ((fourth.getUTCDay() + 6) % 7); // week 1 holds the fourth of January
  const date = utc(year, 1, monday + 7 * (week - 1) + Number(weekday) - 1);
  const thursday = utc(date.getUTCFullYear(), date.getUTCMonth() + 1, date.getUTCDate() + 4 - Number(weekday));
  return week >= 1 && thursday.getUTCFullYear() === Number(year) ? date : null;
}
function date(value) {
  const match = isText(value) && DATE.exec(value);
  if (!match || match[1] === "0000") return exact(value);
  const [, year, quarter, season, month, day, week, weekday, hour, minute, second = "0", fraction = "", offset, mark] =
    match;
  if (quarter || season) return `${year}-${season ?? 32 + Number(quarter)}${mark}`;
  const at = dayOf(year, month, day, week, weekday);
  if (!at || hour > 23 || minute > 59 || second > 59) return exact(value);
  if (hour !== undefined) {
    const [, sign, hours, minutes = "0"] = /^([+-])(\d\d):?(\d\d)?$/.exec(offset ?? "") ?? [0, "+", "0", "0"];
    if (hours > 23 || minutes > 59) return exact(value);
    at.setUTCHours(hour, minute - Number(sign + "1") * (60 * hours + Number(minutes)), second);
  }
  const shown = at.toISOString();
  if (at.getUTCFullYear() < 1 || at.getUTCFullYear() > 9999) return exact(value);
  if (hour === undefined) return shown.slice(0, 10) + mark;
  const micros = fraction.slice(0, 6).padEnd(6, "0");
  return shown.slice(0, 19) + (Number(micros) ? "." + micros : "") + (offset ? "Z" : "") + mark;
}

const folded = (value) => (isText(value) ? casefold(value) : exact(value));
const ways = new Map([["casefold", folded], ["number", number], ["date", date]]);
export const keyOf = (value, equality) => pack((ways.get(equality) ?? exact)(value));
