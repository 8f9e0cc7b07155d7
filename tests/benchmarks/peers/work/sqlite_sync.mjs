// SQLite-Sync (WASM): a table of each replica in memory; changes travel as one payload.
import { readFileSync, writeFileSync } from "node:fs";
import start from "@sqliteai/sqlite-wasm";
import { main } from "./harness.mjs";

const sqlite3 = await start({ print() {}, printErr() {} });
const UPSERT = "INSERT INTO slots VALUES (?, ?) ON CONFLICT DO UPDATE SET value = excluded.value";
const COLUMNS = "tbl, pk, col_name, col_value, col_version, db_version, site_id, cl, seq";
const OWN = `SELECT cloudsync_payload_encode(${COLUMNS}) FROM cloudsync_changes WHERE site_id = cloudsync_siteid()`;

function made() {
  const db = new sqlite3.oo1.DB(":memory:");
  db.exec("CREATE TABLE slots (id TEXT PRIMARY KEY NOT NULL, value TEXT)");
  db.selectValue("SELECT cloudsync_init('slots')");
  return db;
}

const databases = [made(), made()];

await main({
  open() {},
  write(replica, part) {
    const db = databases[replica];
    db.exec("BEGIN");
    const upsert = db.prepare(UPSERT);
    for (const [key, value] of part) upsert.bind([key, value]).stepReset();
    upsert.finalize();
    db.exec("COMMIT");
  },
  merge() {
    const payloads = databases.map((db) => db.selectValue(OWN));
    databases.forEach((db, replica) => db.selectValue("SELECT cloudsync_payload_decode(?)", [payloads[1 - replica]]));
  },
  values: (replica) => Object.fromEntries(databases[replica].selectArrays("SELECT id, value FROM slots")),
  save: (folder) => writeFileSync(`${folder}/file.db`, sqlite3.capi.sqlite3_js_db_export(databases[0])),
  reopened(folder, key) {
    const [bytes, db] = [new Uint8Array(readFileSync(`${folder}/file.db`)), new sqlite3.oo1.DB(":memory:")];
    const place = sqlite3.wasm.allocFromTypedArray(bytes);
    const flags = sqlite3.capi.SQLITE_DESERIALIZE_FREEONCLOSE;
    sqlite3.capi.sqlite3_deserialize(db.pointer, "main", place, bytes.length, bytes.length, flags);
    return db.selectValue("SELECT value FROM slots WHERE id = ?", [key]);
  },
});
