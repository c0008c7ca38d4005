// redis-semaphore's Mutex, which renews, on one ioredis client, which all orders of the process share.
const { createServer } = require("node:http");
const { setTimeout } = require("node:timers/promises");
const Redis = require("ioredis");
const { Mutex, TimeoutError } = require("redis-semaphore");

const client = new Redis(process.env.REDIS_URL);

async function takeOne(work) {
  const left = Number(await client.get("ProductStock_10000"));
  if (left < 1) return 409;
  await setTimeout(work);
  await client.set("ProductStock_10000", left - 1);
  return 200;
}

async function sell(work) {
  const mutex = new Mutex(client, "product_10000", { lockTimeout: 2000, acquireTimeout: 5000 });
  try {
    await mutex.acquire();
  } catch (failure) {
    if (failure instanceof TimeoutError) return 423;
    throw failure;
  }
  try {
    return await takeOne(work);
  } finally {
    await mutex.release();
  }
}

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
