// Sells a unit under a lock, and does what else users of ioredis and node-redis do: client.js ioredis|redis URL PROTOCOL.
// Both send all on one connection. The test that runs it holds the write of the stock until the lock has been renewed,
// and loses a reply.
const assert = require('assert');
const [library, url, protocol] = process.argv.slice(2);
const sleep = (ms) => new Promise((done) => setTimeout(done, ms));

const release = "if redis.call('get', KEYS[1]) == ARGV[1] then return redis.call('del', KEYS[1]) end return 0";
const renew = "if redis.call('get', KEYS[1]) == ARGV[1] then return redis.call('pexpire', KEYS[1], 60000) end return 0";

// sell is the same for both libraries, whose clients differ.
async function sell(c) {
  assert.equal(await c.acquire('one'), 'OK');
  assert.equal(await c.acquire('two'), null);
  const waits = (async () => {
    while ((await c.acquire('two')) === null) await sleep(50);
    assert.equal(await c.release('two'), 1);
  })();
  let written = false;
  const renews = (async () => {
    for (; !written; await sleep(100)) assert.equal(await c.renew('one'), 1);
  })();
  await c.set('stock', (await c.get('stock')) - 1);
  written = true;
  await renews;
  assert.equal(await c.release('one'), 1);
  await waits;

  const numbers = await Promise.all([...Array(16)].map(() => c.incr('n')));
  assert.deepEqual(numbers, [...Array(16)].map((_, i) => i + 1));
  await c.incr('lost').catch(() => {});
  assert((await c.get('lost')) >= 1);
}

async function ioredis() {
  const Redis = require('ioredis');
  const [r, other] = [new Redis(url), new Redis(url)];
  r.defineCommand('release', {numberOfKeys: 1, lua: release});
  r.defineCommand('renew', {numberOfKeys: 1, lua: renew});
  await sell({
    acquire: (token) => r.set('lock', token, 'PX', 60000, 'NX'),
    renew: (token) => r.renew('lock', token),
    release: (token) => r.release('lock', token),
    get: (key) => r.get(key),
    set: (key, value) => r.set(key, String(value)),
    incr: (key) => r.incr(key),
  });
  setTimeout(() => r.lpush('queue', 'x'), 100);
  assert.deepEqual(await other.blpop('queue', 30), ['queue', 'x']);
  assert.deepEqual(await r.multi().incr('n').get('n').exec(), [[null, 17], [null, '17']]);
  r.multi({pipeline: false}); // it waits for each +QUEUED
  await r.incr('n');
  assert.deepEqual(await r.exec(), [[null, 18]]);
  await other.subscribe('one', 'two');
  const message = new Promise((done) => other.on('message', (channel, text) => done(text)));
  await r.publish('two', 'x');
  assert.equal(await message, 'x');
  await other.unsubscribe();
  assert.equal(await other.get('n'), '18');
  await Promise.all([r.quit(), other.quit()]);
}

async function nodeRedis() {
  const {createClient} = require('redis');
  const RESP = Number(protocol);
  const cache = RESP === 3 ? {clientSideCache: {ttl: 0, maxEntries: 0, evictPolicy: 'LRU'}} : {};
  const c = createClient({url, RESP});
  c.on('error', () => {}); // it connects again
  const other = createClient({url, RESP, ...cache});
  await Promise.all([c.connect(), other.connect()]);
  const run = (script, token) => c.eval(script, {keys: ['lock'], arguments: [token]});
  await sell({
    acquire: (token) => c.set('lock', token, {condition: 'NX', expiration: {type: 'PX', value: 60000}}),
    renew: (token) => run(renew, token),
    release: (token) => run(release, token),
    get: (key) => c.get(key),
    set: (key, value) => c.set(key, String(value)),
    incr: (key) => c.incr(key),
  });
  setTimeout(() => c.lPush('queue', 'x'), 100);
  assert.equal((await other.blPop('queue', 30)).element, 'x');
  assert.deepEqual((await c.multi().incr('n').get('n').exec()).map(String), ['17', '17']);
  assert.equal(await other.get('n'), '17');
  await c.set('n', '5');
  while ((await other.get('n')) !== '5') await sleep(10); // a cache is told of it
  const subscriber = c.duplicate();
  await subscriber.connect();
  let done;
  const message = new Promise((resolve) => (done = resolve));
  await subscriber.subscribe(['one', 'two'], done);
  await c.publish('two', 'x');
  assert.equal(await message, 'x');
  await subscriber.unsubscribe();
  assert.equal(await subscriber.get('n'), '5');
  await Promise.all([c.close(), other.close(), subscriber.close()]);
}

({ioredis, redis: nodeRedis})[library]().catch((err) => {
  console.error(err);
  process.exit(1);
});
