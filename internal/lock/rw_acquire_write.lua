-- Acquires the write lock if nobody holds the lock. Otherwise it leaves the mark of a waiting writer, which keeps new
-- readers out until it expires.
-- KEYS[1] the lock, KEYS[2] the marks; see rw_acquire_read.lua. ARGV[1] the writer, ARGV[2] the TTL in ms, ARGV[3] its
-- mark, or '' for one that does not wait, ARGV[4] the TTL of the mark in ms. Returns 1, or 0 when it has to wait.
local time = redis.call('TIME')
local now = time[1] * 1000 + math.floor(time[2] / 1000)
redis.call('ZREMRANGEBYSCORE', KEYS[1], '-inf', now)
if redis.call('ZCARD', KEYS[1]) == 0 then
  redis.call('ZADD', KEYS[1], string.format('%.0f', now + tonumber(ARGV[2])), ARGV[1])
  redis.call('PEXPIRE', KEYS[1], ARGV[2])
  redis.call('ZREM', KEYS[2], ARGV[3])
  return 1
end
if ARGV[3] ~= '' then
  redis.call('ZADD', KEYS[2], string.format('%.0f', now + tonumber(ARGV[4])), ARGV[3])
  redis.call('PEXPIRE', KEYS[2], ARGV[4])
end
return 0
