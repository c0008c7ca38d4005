-- Renews a permit unless its deadline has passed: another holder may have or may have had it since.
-- KEYS[1] the semaphore, ARGV[1] the holder's token, ARGV[2] the TTL in ms. Returns 1, or 0 when the deadline has
-- passed.
local time = redis.call('TIME')
local now = time[1] * 1000 + math.floor(time[2] / 1000)
redis.call('ZREMRANGEBYSCORE', KEYS[1], '-inf', now)
if not redis.call('ZSCORE', KEYS[1], ARGV[1]) then
  return 0
end
redis.call('ZADD', KEYS[1], 'XX', string.format('%.0f', now + tonumber(ARGV[2])), ARGV[1])
redis.call('PEXPIRE', KEYS[1], math.max(tonumber(ARGV[2]), redis.call('PTTL', KEYS[1])))
return 1
