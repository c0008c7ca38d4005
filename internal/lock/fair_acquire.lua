-- Acquires a fair lock: takes it if it is free and nobody is before the caller. Otherwise the caller keeps its place in
-- the queue, or gets the last place.
-- KEYS[1] the lock, KEYS[2] the queue: a list of places, KEYS[3] the deadline of each place. ARGV[1] the owner's token,
-- ARGV[2] the TTL in ms, ARGV[3] the caller's place, '' if it does not queue, ARGV[4] the TTL of a place in ms.
-- Returns 1 when the lock was taken, else -(1 + the ms after which to ask again).
-- All times are Redis' own. The clocks of clients drift apart, and so would the deadlines in the queue.
local time = redis.call('TIME')
local now = time[1] * 1000 + math.floor(time[2] / 1000)
local head = redis.call('LINDEX', KEYS[2], 0)
while head and tonumber(redis.call('ZSCORE', KEYS[3], head) or '0') <= now do
  redis.call('LPOP', KEYS[2]) -- its waiter has died, or was paused for too long
  redis.call('ZREM', KEYS[3], head)
  head = redis.call('LINDEX', KEYS[2], 0)
end
local left = redis.call('PTTL', KEYS[1])
if left == -2 and (not head or head == ARGV[3]) then
  redis.call('LREM', KEYS[2], 1, ARGV[3])
  redis.call('ZREM', KEYS[3], ARGV[3])
  redis.call('SET', KEYS[1], ARGV[1], 'PX', ARGV[2])
  return 1
end
if ARGV[3] ~= '' then
  if not redis.call('ZSCORE', KEYS[3], ARGV[3]) then
    redis.call('RPUSH', KEYS[2], ARGV[3])
  end
  redis.call('ZADD', KEYS[3], now + ARGV[4], ARGV[3])
  redis.call('PEXPIRE', KEYS[2], 10 * ARGV[4])
  redis.call('PEXPIRE', KEYS[3], 10 * ARGV[4])
end
if left == -2 then -- free for the head of the queue, until the head's place expires
  left = tonumber(redis.call('ZSCORE', KEYS[3], head) or now) - now
elseif left == -1 then -- held without a TTL, by another program
  left = tonumber(ARGV[4])
end
return -1 - left
