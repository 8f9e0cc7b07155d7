// Automerge: a map in a document of each replica.
import { readFileSync, writeFileSync } from "node:fs";
import * as A from "@automerge/automerge";
import { main } from "./harness.mjs";

const root = A.change(A.init(), (doc) => void (doc.slots = {}));
const docs = [root, A.clone(root)];

await main({
  open() {},
  write(replica, part) {
    docs[replica] = A.change(docs[replica], (doc) => part.forEach(([key, value]) => void (doc.slots[key] = value)));
  },
  merge() {
    const changes = docs.map((doc) => A.getChanges(root, doc));
    docs[0] = A.applyChanges(docs[0], changes[1])[0];
    docs[1] = A.applyChanges(docs[1], changes[0])[0];
  },
  values: (replica) => ({ ...docs[replica].slots }),
  save: (folder) => writeFileSync(`${folder}/doc.bin`, A.save(docs[0])),
  reopened: (folder, key) => A.load(readFileSync(`${folder}/doc.bin`)).slots[key],
});
