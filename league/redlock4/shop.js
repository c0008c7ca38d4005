// redlock 4 on one ioredis client, which all orders of the process share.
const { createServer } = require("node:http");
const Redis = require("ioredis");
const Redlock = require("redlock");

const client = new Redis(process.env.REDIS_URL);
const redlock = new Redlock([client]);

async function takeOne() {
  const left = Number(await client.get("ProductStock_10000"));
  if (left < 1) return 409;
  await client.set("ProductStock_10000", left - 1);
  return 200;
}

async function sell() {
  let lock;
  try {
    lock = await redlock.lock("lock:product_10000", 2000);
  } catch (failure) {
    if (failure instanceof Redlock.LockError) return 423;
    throw failure;
  }
  try {
    return await takeOne();
  } finally {
    await lock.unlock();
  }
}

createServer(async (request, answer) => {
  request.resume();
  let status = 500;
  let body = "";
  try {
    status = await sell();
  } catch (failure) {
    body = String(failure);
  }
  answer.writeHead(status, { "Content-Length": Buffer.byteLength(body) });
  answer.end(body);
}).listen(Number(process.env.PORT), "127.0.0.1");
