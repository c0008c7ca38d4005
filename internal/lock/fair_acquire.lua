-- Acquires a fair lock: takes it if it is free and nobody is before the caller. Otherwise the caller keeps its place in
-- the queue, or gets the last place. Its owner takes it again at once: in the queue it would wait for itself.
-- KEYS[1] the lock: a hash of owner to count, as v7's, KEYS[2] the queue: a list of places, KEYS[3] the deadline of
-- each place. ARGV[1] the owner, ARGV[2] the TTL in ms, ARGV[3] how often the owner holds it already, by the owner's own
-- count, ARGV[4] the caller's place, '' if it does not queue, ARGV[5] the TTL of a place in ms.
-- Returns the new count, else -(1 + the ms after which to ask again), or nil when the owner's outer lease has ended.
-- All times are Redis' own. The clocks of clients drift apart, and so would the deadlines in the queue.
local owned = redis.call('HEXISTS', KEYS[1], ARGV[1]) == 1
if ARGV[3] ~= '0' and not owned then
  return false
end
if owned then -- as in reentrant_acquire.lua
  local count = tonumber(ARGV[3]) + 1
  redis.call('HSET', KEYS[1], ARGV[1], string.format('%d', count))
  if redis.call('PTTL', KEYS[1]) < tonumber(ARGV[2]) then
    redis.call('PEXPIRE', KEYS[1], ARGV[2])
  end
  return count
end
local time = redis.call('TIME')
local now = time[1] * 1000 + math.floor(time[2] / 1000)
local head = redis.call('LINDEX', KEYS[2], 0)
while head and tonumber(redis.call('ZSCORE', KEYS[3], head) or '0') <= now do
  redis.call('LPOP', KEYS[2]) -- its waiter has died, or was paused for too long
  redis.call('ZREM', KEYS[3], head)
  head = redis.call('LINDEX', KEYS[2], 0)
end
local left = redis.call('PTTL', KEYS[1])
if left == -2 and (not head or head == ARGV[4]) then
  redis.call('LREM', KEYS[2], 1, ARGV[4])
  redis.call('ZREM', KEYS[3], ARGV[4])
  redis.call('HSET', KEYS[1], ARGV[1], '1')
  redis.call('PEXPIRE', KEYS[1], ARGV[2])
  return 1
end
if ARGV[4] ~= '' then
  if not redis.call('ZSCORE', KEYS[3], ARGV[4]) then
    redis.call('RPUSH', KEYS[2], ARGV[4])
  end
  redis.call('ZADD', KEYS[3], now + ARGV[5], ARGV[4])
  redis.call('PEXPIRE', KEYS[2], 10 * ARGV[5])
  redis.call('PEXPIRE', KEYS[3], 10 * ARGV[5])
end
if left == -2 then -- free for the head of the queue, until the head's place expires
  left = tonumber(redis.call('ZSCORE', KEYS[3], head) or now) - now
elseif left == -1 then -- held without a TTL, by another program
  left = tonumber(ARGV[5])
end
return -1 - left
