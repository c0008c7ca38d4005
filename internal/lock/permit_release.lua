-- Returns a permit. One whose deadline has passed is nobody's to return, whether it was dropped yet or not.
-- KEYS[1] the semaphore, ARGV[1] the holder's token. Returns 1, or 0 when it was over.
local time = redis.call('TIME')
local now = time[1] * 1000 + math.floor(time[2] / 1000)
redis.call('ZREMRANGEBYSCORE', KEYS[1], '-inf', now)
return redis.call('ZREM', KEYS[1], ARGV[1])
