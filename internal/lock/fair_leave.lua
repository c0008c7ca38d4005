-- Gives up a place in the queue of a fair lock. If the lock is free, it may have been reserved for that place, so the
-- script notifies the next waiter.
-- KEYS[1] the lock, KEYS[2] the queue, KEYS[3] the deadlines, KEYS[4] the channel. ARGV[1] the place, ARGV[2] PUBLISH or
-- SPUBLISH. Returns 1.
redis.call('LREM', KEYS[2], 1, ARGV[1])
redis.call('ZREM', KEYS[3], ARGV[1])
local head = redis.call('LINDEX', KEYS[2], 0)
if head and redis.call('EXISTS', KEYS[1]) == 0 then
  redis.call(ARGV[2], KEYS[4], head)
end
return 1
