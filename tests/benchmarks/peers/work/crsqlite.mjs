// cr-sqlite (WASM): a table of each replica in memory; changes are read and inserted row by row. It has no way to save
// such a database outside a browser: what is saved are its changes, from which it is built again.
import { readFileSync, writeFileSync } from "node:fs";
import { fileURLToPath } from "node:url";
import { main } from "./harness.mjs";

globalThis.indexedDB = { open: () => ({ addEventListener() {} }) }; // named when it starts, never used in memory
const fetched = globalThis.fetch; // which opens no file
globalThis.fetch = async (where, how) =>
  String(where).startsWith("file:")
    ? new Response(readFileSync(fileURLToPath(String(where))), { headers: { "content-type": "application/wasm" } })
    : fetched(where, how);
const { default: start } = await import("@vlcn.io/crsqlite-wasm");
const sqlite = await start();
const COLUMNS = '"table", "pk", "cid", "val", "col_version", "db_version", "site_id", "cl", "seq"';
const UPSERT = "INSERT INTO slots VALUES (?, ?) ON CONFLICT DO UPDATE SET value = excluded.value";
const INSERT = `INSERT INTO crsql_changes (${COLUMNS}) VALUES (?, ?, ?, ?, ?, ?, ?, ?, ?)`;
const databases = [];

async function made() {
  const db = await sqlite.open();
  await db.exec("CREATE TABLE slots (id TEXT PRIMARY KEY NOT NULL, value TEXT)");
  await db.exec("SELECT crsql_as_crr('slots')");
  return db;
}

async function insert(db, sql, rows) {
  await db.tx(async (tx) => {
    const statement = await tx.prepare(sql);
    for (const row of rows) await statement.run(tx, ...row);
    await statement.finalize(tx);
  });
}

const plain = (rows) => rows.map((row) => row.map((cell) => (cell instanceof Uint8Array ? [...cell] : cell)));
const whole = (rows) => rows.map((row) => row.map((cell) => (Array.isArray(cell) ? Uint8Array.from(cell) : cell)));
const changes = (db) => db.execA(`SELECT ${COLUMNS} FROM crsql_changes`);

await main({
  open: async () => void databases.push(await made(), await made()),
  write: (replica, part) => insert(databases[replica], UPSERT, part.map(([key, value]) => [key, value])),
  async merge() {
    const told = [await changes(databases[0]), await changes(databases[1])];
    await insert(databases[0], INSERT, told[1]);
    await insert(databases[1], INSERT, told[0]);
  },
  values: async (replica) => Object.fromEntries(await databases[replica].execA("SELECT id, value FROM slots")),
  save: async (folder) => writeFileSync(`${folder}/changes.json`, JSON.stringify(plain(await changes(databases[0])))),
  async reopened(folder, key) {
    const db = await made();
    await insert(db, INSERT, whole(JSON.parse(readFileSync(`${folder}/changes.json`, "utf8"))));
    return (await db.execA("SELECT value FROM slots WHERE id = ?", [key]))[0][0];
  },
});
