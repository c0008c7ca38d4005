-- Acquires the read lock beside other readers, unless a writer holds the lock, or waits for it and has left its mark.
-- KEYS[1] the lock: a sorted set of holder to deadline, in ms by Redis' own clock; "r:" and a token is a reader, "w:" and
-- a token the writer. KEYS[2] the marks of waiting writers, also with their deadlines. ARGV[1] the reader,
-- ARGV[2] the TTL in ms. Returns 1, or 0 when it has to wait.
local time = redis.call('TIME')
local now = time[1] * 1000 + math.floor(time[2] / 1000)
redis.call('ZREMRANGEBYSCORE', KEYS[1], '-inf', now)
redis.call('ZREMRANGEBYSCORE', KEYS[2], '-inf', now)
if redis.call('ZCARD', KEYS[2]) > 0 then
  return 0
end
local inside = redis.call('ZRANGE', KEYS[1], 0, 0)[1]
if inside and string.sub(inside, 1, 2) == 'w:' then
  return 0
end
redis.call('ZADD', KEYS[1], string.format('%.0f', now + tonumber(ARGV[2])), ARGV[1])
redis.call('PEXPIRE', KEYS[1], math.max(tonumber(ARGV[2]), redis.call('PTTL', KEYS[1])))
return 1
