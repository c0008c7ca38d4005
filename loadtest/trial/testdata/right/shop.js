// A small shop on node-redis: PORT=8001 REDIS_URL=redis://127.0.0.1:6379 NODE_PATH=… node shop.js
//
// POST /decrease sells one unit under a leased lock with a token. It answers 200 sold, 409 sold out, 423 busy, or 500
// after an exception.
'use strict'
const { randomUUID } = require('node:crypto')
const { createServer } = require('node:http')
const { setTimeout: sleep } = require('node:timers/promises')
const { createClient } = require('redis')

const stock = 'ProductStock_10000'
const lock = 'mutex:10000'
const compareAndDelete = `
if redis.call('GET', KEYS[1]) ~= ARGV[1] then return 0 end
return redis.call('DEL', KEYS[1])`

const redis = createClient({ url: process.env.REDIS_URL })
redis.on('error', (err) => console.error(err.message)) // it connects again by itself

async function acquire(token) {
  for (const end = Date.now() + 3000; Date.now() < end; await sleep(50)) {
    if (await redis.set(lock, token, { NX: true, PX: 2000 })) return true
  }
  return false
}

async function sell() {
  const left = Number(await redis.get(stock))
  if (left < 1) return 409
  await redis.set(stock, String(left - 1))
  return 200
}

async function order() {
  const token = randomUUID()
  if (!(await acquire(token))) return 423
  try {
    return await sell()
  } finally {
    await redis.eval(compareAndDelete, { keys: [lock], arguments: [token] })
  }
}

const server = createServer(async (request, response) => {
  try {
    const sells = request.method === 'POST' && request.url.split('?')[0] === '/decrease'
    response.statusCode = sells ? await order() : 404
  } catch (err) {
    console.error(err)
    response.statusCode = 500
  }
  response.end()
})

redis.connect().then(() => server.listen(Number(process.env.PORT), '127.0.0.1'))
