// The work of one peer in one process, as harness.py has it: SCRIPT merge WORKLOAD FOLDER, or reopen.
// A peer is an object of functions: open(folder), write(replica, part), merge(), values(replica), save(folder), and
// reopened(folder, key); each may be asynchronous.
import { readFileSync, readdirSync, statSync } from "node:fs";
import { join } from "node:path";

const PART = 256; // writes in a transaction

export async function main(peer) {
  const [verb, path, folder] = process.argv.slice(2);
  const workload = JSON.parse(readFileSync(path, "utf8"));
  console.log(JSON.stringify(await { merge: merged, reopen: reopened }[verb](peer, workload, folder)));
  process.exit(0);
}

async function reopened(peer, { latest }, folder) {
  return { ...(await spent(() => peer.reopened(folder, Object.keys(latest)[0]))), peak: peakBytes() };
}

async function merged(peer, { writes, latest }, folder) {
  await peer.open(folder);
  const before = peakBytes();
  const write = await spent(async () => {
    for (const [replica, all] of writes.entries()) {
      for (let start = 0; start < all.length; start += PART) await peer.write(replica, all.slice(start, start + PART));
    }
  });
  const merge = await spent(() => peer.merge());
  const save = await spent(() => peer.save(folder));
  const held = peakBytes() - before;
  const [one, other] = [await peer.values(0), await peer.values(1)];
  const converged = Object.keys(latest).every((key) => one[key] === other[key]);
  const right = Object.entries(latest).filter(([key, value]) => one[key] === value).length;
  const saved = readdirSync(folder).reduce((sum, name) => sum + statSync(join(folder, name)).size, 0);
  return { write, merge, save, held, converged, right, saved };
}

async function spent(action) {
  const [cpu, begin] = [process.cpuUsage(), performance.now()];
  const found = await action();
  const used = process.cpuUsage(cpu);
  return { seconds: (performance.now() - begin) / 1e3, cpu: (used.user + used.system) / 1e6, found };
}

function peakBytes() {
  try {
    return Number(/VmHWM:\s+(\d+)/.exec(readFileSync("/proc/self/status", "utf8"))[1]) * 1024;
  } catch {
    return process.resourceUsage().maxRSS * 1024;
  }
}
