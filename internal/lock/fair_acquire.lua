-- Acquire of a fair lock: takes it if it is free and nobody is before the caller; else the caller keeps its place in the
-- queue, or gets the last one.
-- KEYS[1] the lock, KEYS[2] the queue: a list of places, KEYS[3] until when each counts as alive. ARGV[1] the owner's
-- token, ARGV[2] the TTL in ms, ARGV[3] the caller's place, '' if it does not queue, ARGV[4] for how many ms a place
-- lasts unless its owner comes again.
-- Returns 1 when the lock was taken, else -(1 + the ms after which it is worth asking again).
-- All times are Redis' own. Those that clients tell drift apart, and with them the deadlines of everybody in the queue.
local time = redis.call('TIME')
local now = time[1] * 1000 + math.floor(time[2] / 1000)
local head = redis.call('LINDEX', KEYS[2], 0)
while head and tonumber(redis.call('ZSCORE', KEYS[3], head) or '0') <= now do
  redis.call('LPOP', KEYS[2]) -- it died, or has been stopped for so long that nobody can tell
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
if left == -2 then -- free: for the head of the queue, until that is found to be dead
  left = tonumber(redis.call('ZSCORE', KEYS[3], head) or now) - now
elseif left == -1 then -- held without an end, by somebody else's code: nobody knows when
  left = tonumber(ARGV[4])
end
return -1 - left
