// Waits 0.3 s and 1.2 s for a lock of redlock 5, and prints what becomes of its lease of 1 s.
const { setTimeout } = require("node:timers/promises");
const Redis = require("ioredis");
const { default: Redlock } = require("redlock");

async function waited(client, redlock, ms) {
  await client.set("waited", "another's", "PX", ms);
  return redlock.using(["waited"], 1000, async (signal) => {
    const left = await client.pttl("waited");
    await setTimeout(20); // the work; using extends the lease half a second before its end
    return `waited ${ms} ms: ${left} ms left in Redis, aborted: ${signal.error?.message ?? "no"}`;
  });
}

async function main() {
  const client = new Redis(process.env.REDIS_URL);
  const redlock = new Redlock([client]);
  redlock.on("error", () => {}); // every busy lock is one
  for (const ms of [300, 1200]) {
    for (let i = 0; i < 10; i++) console.log(await waited(client, redlock, ms).catch(String));
  }
  client.disconnect();
}

main();
