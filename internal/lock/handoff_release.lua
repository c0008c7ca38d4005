-- Releases a lock if it is still the owner's, and notifies the first waiter in the queue.
-- KEYS[1] the lock, KEYS[2] the queue, KEYS[3] the channel. ARGV[1] the owner, ARGV[2] PUBLISH, or SPUBLISH on a
-- cluster. Returns 1 when it was released, 0 when it was not ours (any more).
if redis.call('GET', KEYS[1]) ~= ARGV[1] then
  return 0
end
redis.call('DEL', KEYS[1])
local head = redis.call('LINDEX', KEYS[2], 0)
if head then
  redis.call(ARGV[2], KEYS[3], head)
end
return 1
