-- Acquires a lock with a fencing token: takes the lock if it is free, and draws a number higher than all before.
-- KEYS[1] the lock, KEYS[2] the last number drawn, ARGV[1] the owner's token, ARGV[2] the TTL in ms.
-- Returns the number, or 0 when the lock is held.
-- The number is Redis' own time in microseconds, and at least one more than the last number. A plain INCR would start
-- again at 1 after a flush, or go back after a failover to a replica that lags. Then the stock would refuse everybody
-- until the count had caught up.
if not redis.call('SET', KEYS[1], ARGV[1], 'NX', 'PX', ARGV[2]) then
  return 0
end
local time = redis.call('TIME')
local fence = time[1] * 1000000 + time[2]
local last = tonumber(redis.call('GET', KEYS[2]) or '0') or 0 -- a value that is no number is overwritten
if fence <= last and last < 2^53 then
  fence = last + 1
end
redis.call('SET', KEYS[2], string.format('%.0f', fence))
-- The last number protects against a clock that steps back. It is kept until the clock has passed it, and an hour more
-- for a replica whose clock is late. Without a TTL, every product that was ever requested would leave a key.
redis.call('PEXPIREAT', KEYS[2], string.format('%.0f', math.floor(fence / 1000) + 3600000))
return fence
