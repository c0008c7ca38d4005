-- Acquires a fair lock with fencing tokens: takes it if it is free and no other place is before the caller's. Otherwise
-- the caller keeps its place in the queue, or gets the last place. It is fair_acquire.lua for a lock that is not
-- reentrant, and draws tokens as acquire_fenced.lua does: one for each holder that the lease may be passed to.
-- KEYS[1] the lock, KEYS[2] the queue: a list of places, KEYS[3] the deadline of each place, KEYS[4] the last token
-- drawn. ARGV[1] the owner, ARGV[2] the TTL in ms, ARGV[3] the caller's place, '' if it does not queue, ARGV[4] the TTL
-- of a place in ms, ARGV[5] how many tokens to draw.
-- Returns the first token, or else -(1 + the ms after which to ask again).
local time = redis.call('TIME')
local now = time[1] * 1000 + math.floor(time[2] / 1000)
local head = redis.call('LINDEX', KEYS[2], 0)
while head and tonumber(redis.call('ZSCORE', KEYS[3], head) or '0') <= now do
  redis.call('LPOP', KEYS[2]) -- its instance has died, or was paused for too long
  redis.call('ZREM', KEYS[3], head)
  head = redis.call('LINDEX', KEYS[2], 0)
end
local left = redis.call('PTTL', KEYS[1])
if left == -2 and (not head or head == ARGV[3]) then
  redis.call('LREM', KEYS[2], 1, ARGV[3])
  redis.call('ZREM', KEYS[3], ARGV[3])
  redis.call('SET', KEYS[1], ARGV[1], 'PX', ARGV[2])
  local fence = time[1] * 1000000 + time[2]
  local last = tonumber(redis.call('GET', KEYS[4]) or '0') or 0 -- a value that is no number is overwritten
  if fence <= last and last < 2^53 then
    fence = last + 1
  end
  last = fence + ARGV[5] - 1
  redis.call('SET', KEYS[4], string.format('%.0f', last))
  redis.call('PEXPIREAT', KEYS[4], string.format('%.0f', math.floor(last / 1000) + 3600000))
  return fence
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
