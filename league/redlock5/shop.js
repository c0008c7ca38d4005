// redlock 5 on one ioredis client, which all orders of the process share: acquire and release, or using, which extends.
const { createServer } = require("node:http");
const { setTimeout } = require("node:timers/promises");
const Redis = require("ioredis");
const { default: Redlock } = require("redlock");

const client = new Redis(process.env.REDIS_URL);
const redlock = new Redlock([client]);
redlock.on("error", () => {}); // every busy lock is one

// The signal of using is looked at before the write, as the README has it.
async function takeOne(work, signal) {
  const left = Number(await client.get("ProductStock_10000"));
  if (left < 1) return 409;
  await setTimeout(work);
  if (signal?.aborted) throw signal.error;
  await client.set("ProductStock_10000", left - 1);
  return 200;
}

async function sellByAcquire(work) {
  let lock;
  try {
    lock = await redlock.acquire(["lock:product_10000"], 2000);
  } catch (failure) {
    if (failure.name === "ExecutionError") return 423;
    throw failure;
  }
  try {
    return await takeOne(work);
  } finally {
    await lock.release();
  }
}

async function sellByUsing(work) {
  return redlock.using(["lock:product_10000"], 2000, (signal) => takeOne(work, signal));
}

const sell = process.argv.includes("using") ? sellByUsing : sellByAcquire;

createServer(async (request, answer) => {
  request.resume();
  let status = 500;
  let body = "";
  try {
    const work = new URL(request.url, "http://shop").searchParams.get("work");
    status = await sell(Number(work));
  } catch (failure) {
    body = String(failure);
  }
  answer.writeHead(status, { "Content-Length": Buffer.byteLength(body) });
  answer.end(body);
}).listen(Number(process.env.PORT), "127.0.0.1");
