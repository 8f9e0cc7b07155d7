// Yjs: a map in a document of each replica; what each lacks is sent as an update.
import { readFileSync, writeFileSync } from "node:fs";
import * as Y from "yjs";
import { main } from "./harness.mjs";

const docs = [new Y.Doc(), new Y.Doc()];
const maps = docs.map((doc) => doc.getMap("slots"));

await main({
  open() {},
  write(replica, part) {
    docs[replica].transact(() => part.forEach(([key, value]) => maps[replica].set(key, value)));
  },
  merge() {
    const [one, other] = docs;
    const forOne = Y.encodeStateAsUpdate(other, Y.encodeStateVector(one));
    const forOther = Y.encodeStateAsUpdate(one, Y.encodeStateVector(other));
    Y.applyUpdate(one, forOne);
    Y.applyUpdate(other, forOther);
  },
  values: (replica) => maps[replica].toJSON(),
  save: (folder) => writeFileSync(`${folder}/doc.bin`, Y.encodeStateAsUpdate(docs[0])),
  reopened(folder, key) {
    const doc = new Y.Doc();
    Y.applyUpdate(doc, readFileSync(`${folder}/doc.bin`));
    return doc.getMap("slots").get(key);
  },
});
