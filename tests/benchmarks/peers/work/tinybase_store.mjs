// TinyBase: a mergeable store of each replica, saved as JSON.
import { readFileSync, writeFileSync } from "node:fs";
import { createMergeableStore } from "tinybase";
import { main } from "./harness.mjs";

const stores = [createMergeableStore("one"), createMergeableStore("other")];

await main({
  open() {},
  write(replica, part) {
    const store = stores[replica];
    store.transaction(() => part.forEach(([key, value]) => store.setCell("slots", key, "value", value)));
  },
  merge: () => void stores[0].merge(stores[1]), // both ways
  values: (replica) =>
    Object.fromEntries(Object.entries(stores[replica].getTable("slots")).map(([slot, row]) => [slot, row.value])),
  save: (folder) => writeFileSync(`${folder}/store.json`, JSON.stringify(stores[0].getMergeableContent())),
  reopened(folder, key) {
    const store = createMergeableStore("again");
    store.setMergeableContent(JSON.parse(readFileSync(`${folder}/store.json`, "utf8")));
    return store.getCell("slots", key, "value");
  },
});
