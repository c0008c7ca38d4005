package cause

// The code of the remedies, to be pasted: Lua for EVAL, SQL for PostgreSQL, and Python for the client. Each literal is
// also in docs/try.md, under "Remedies".

const acquireLines = `# The token is a new random one. Without an OK sell nothing, and refuse the order.
SET lock:<product> <token> NX PX 10000`

const releaseLines = `-- Release: compare and delete. KEYS[1] the lock, ARGV[1] your token.
-- Newer servers do this by a command. Redis 8.4: DELEX lock IFEQ token. Valkey 9: DELIFEQ lock token.
if redis.call('GET', KEYS[1]) == ARGV[1] then
  return redis.call('DEL', KEYS[1])
end
return 0`

const renewLines = `-- Renew, three times a lease. KEYS[1] the lock, ARGV[1] your token, ARGV[2] the TTL in ms.
-- 0: the lock is lost.
-- Redis 8.4 and Valkey 9 do this by a command: SET lock token IFEQ token PX ttl. No OK: the lock is lost.
if redis.call('GET', KEYS[1]) == ARGV[1] then
  return redis.call('PEXPIRE', KEYS[1], ARGV[2])
end
return 0`

const saleLines = `token = secrets.token_hex(16)  # of this order alone
if not acquire(lock, token):
    return 503  # sell nothing
try:
    stock.write(stock.read() - 1)  # read under the lock, and commit before the release
finally:
    release(lock, token)  # once; if it fails, the unit is sold all the same
return 200`

const stopLines = `finally:
    stop.set()
    renewer.join()  # a renewal in flight has ended: now release
    release(lock, token)`

const pollLines = `while not acquire(lock, token):
    if time.monotonic() > deadline:
        return 503
    messages.get_message(timeout=0.2)  # a message, or 0.2 s without one`

const queueLines = `-- Keep a place in the queue, every second. KEYS[1] the queue, KEYS[2] its deadlines,
-- ARGV[1] your place. 1: it is your turn: acquire the lock, and leave the queue.
local now = tonumber(redis.call('TIME')[1])
if not redis.call('ZSCORE', KEYS[2], ARGV[1]) then
  redis.call('RPUSH', KEYS[1], ARGV[1])
end
redis.call('ZADD', KEYS[2], now + 3, ARGV[1])
local head = redis.call('LINDEX', KEYS[1], 0)
while tonumber(redis.call('ZSCORE', KEYS[2], head) or 0) <= now do
  redis.call('LPOP', KEYS[1])
  redis.call('ZREM', KEYS[2], head)
  head = redis.call('LINDEX', KEYS[1], 0)
end
return head == ARGV[1] and 1 or 0`

const majorityLines = `if sum(acquire(node, lock, token) for node in nodes) <= len(nodes) // 2:
    for node in nodes:
        release(node, lock, token)
    return 503`

const takeLines = `-- Take a unit without a lock. KEYS[1] the stock. 0: sold out.
if tonumber(redis.call('GET', KEYS[1]) or 0) < 1 then
  return 0
end
redis.call('DECR', KEYS[1])
return 1`

const takeSQL = `-- Take a unit without a lock. No row: sold out.
UPDATE stock SET units = units - 1 WHERE product = $1 AND units > 0`

const onceLines = `-- Take a unit once, however often this is sent. KEYS[1] the stock, KEYS[2] the order. 0: sold out.
if redis.call('EXISTS', KEYS[2]) == 1 then
  return 1
end
if tonumber(redis.call('GET', KEYS[1]) or 0) < 1 then
  return 0
end
redis.call('DECR', KEYS[1])
redis.call('SET', KEYS[2], 'sold', 'EX', 86400)
return 1`

const watchLines = `with redis.pipeline() as transaction:  # a connection of its own
    transaction.watch(stock)
    left = int(transaction.get(stock))
    transaction.multi()
    transaction.set(stock, left - 1)
    transaction.execute()  # on WatchError read again`

const drawLines = `-- Acquire with a fencing token. KEYS[1] the lock, KEYS[2] the last fencing token, without a TTL;
-- ARGV[1] your token, ARGV[2] the TTL in ms. Returns the fencing token. 0: the lock is taken.
if redis.call('SET', KEYS[1], ARGV[1], 'NX', 'PX', ARGV[2]) then
  return redis.call('INCR', KEYS[2])
end
return 0`

const fenceLines = `-- Read the stock, or write it. KEYS[1] the stock, KEYS[2] the newest fencing token it has seen;
-- ARGV[1] your fencing token, ARGV[2] what to write: without it this reads.
if tonumber(ARGV[1]) < tonumber(redis.call('GET', KEYS[2]) or 0) then
  return redis.error_reply('STALE')
end
redis.call('SET', KEYS[2], ARGV[1])
if ARGV[2] then
  redis.call('SET', KEYS[1], ARGV[2], 'KEEPTTL')
end
return redis.call('GET', KEYS[1])`

const fenceSQL = `-- Take a unit with a fencing token, $2. No row: stale, or sold out.
UPDATE stock SET units = units - 1, fence = $2 WHERE product = $1 AND fence <= $2 AND units > 0`

const handleLines = `try:
    return sell(order)
except redis.RedisError:
    return 500  # whether a unit was sold is unknown`

// Remedies of several parts.
const (
	lockOrTake  = saleLines + "\n\n" + takeLines + "\n\n" + takeSQL
	ownLines    = saleLines + "\n\n" + releaseLines
	fencedWrite = drawLines + "\n\n" + fenceLines + "\n\n" + fenceSQL
)
