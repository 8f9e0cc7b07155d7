// node check.mjs FOLDER: asks every vector of the folder, prints each wrong one, and how many of each area are right.
// Questions in words that are not known here count as wrong, also where `invalid` is the answer.
import { readFileSync, readdirSync } from "node:fs";
import { basename, dirname, join } from "node:path";
import { isDeepStrictEqual } from "node:util";
import { answer } from "./harness.mjs";

const words = new Set(JSON.parse(answer('{"word": "hello"}')).words);
const folder = process.argv[2];
const areas = new Map();
for (const file of readdirSync(folder, { recursive: true }).sort()) {
  if (!/\.jsonl?$/.test(file) || file.split("/").includes("generate")) continue;
  const text = readFileSync(join(folder, file), "utf8");
  const vectors = file.endsWith("l") ? text.split("\n").filter((line) => line.trim()) : [text];
  vectors.forEach((vector, i) => {
    const { says, ask, answer: expected } = JSON.parse(vector), given = JSON.parse(answer(JSON.stringify(ask)));
    const declined = words.has(ask.word) ? [] : ["word"];
    const wrong = declined.length ? declined : Object.keys(expected).filter((name) => !isDeepStrictEqual(given[name], expected[name]));
    const area = areas.get(dirname(file)) ?? { right: 0, all: 0 };
    area.all += 1;
    areas.set(dirname(file), area);
    if (!wrong.length) area.right += 1;
    else console.log(`wrong: ${dirname(file)}/${basename(file)}${vectors.length > 1 ? `:${i + 1}` : ""}: ${wrong}` +
      ` (${expected.outcome}, given ${given.outcome}: ${given.why ?? ""}): ${says}`);
  });
}
const sum = (name) => [...areas.values()].reduce((sum, area) => sum + area[name], 0);
for (const [area, { right, all }] of areas) console.log(`${area}: ${right} of ${all}`);
console.log(`${sum("right")} of ${sum("all")} right`);
