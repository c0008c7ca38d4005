-- Acquire with a fencing token: takes the lock if it is free, and draws a number that is higher than any before.
-- KEYS[1] the lock, KEYS[2] the last number drawn, ARGV[1] the owner's token, ARGV[2] the TTL in ms.
-- Returns the number, or 0 when the lock is held.
-- The number is Redis' own time in microseconds, and at least one more than the last. A plain INCR would begin again
-- at 1 after a flush, or after a failover to a replica that lags, and the stock would refuse everybody until the count
-- had caught up.
if not redis.call('SET', KEYS[1], ARGV[1], 'NX', 'PX', ARGV[2]) then
  return 0
end
local time = redis.call('TIME')
local fence = time[1] * 1000000 + time[2]
local last = tonumber(redis.call('GET', KEYS[2]) or '0')
if fence <= last then
  fence = last + 1
end
redis.call('SET', KEYS[2], string.format('%.0f', fence))
return fence
