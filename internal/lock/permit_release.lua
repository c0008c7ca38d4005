-- Returns a permit. A permit whose deadline has passed cannot be returned, even if it was not dropped yet.
-- KEYS[1] the semaphore, ARGV[1] the holder's token. Returns 1, or 0 when the deadline had passed.
local time = redis.call('TIME')
local now = time[1] * 1000 + math.floor(time[2] / 1000)
redis.call('ZREMRANGEBYSCORE', KEYS[1], '-inf', now)
return redis.call('ZREM', KEYS[1], ARGV[1])
