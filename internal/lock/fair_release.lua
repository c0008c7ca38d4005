-- Releases a fair lock if it is the owner's, and notifies the first waiter in the queue.
-- KEYS[1] the lock, KEYS[2] the queue, KEYS[3] the channel. ARGV[1] the owner's token, ARGV[2] PUBLISH, or SPUBLISH on a
-- cluster. Returns 1, or 0 when the lock was not the owner's.
if redis.call('GET', KEYS[1]) ~= ARGV[1] then
  return 0
end
redis.call('DEL', KEYS[1])
local head = redis.call('LINDEX', KEYS[2], 0)
if head then
  redis.call(ARGV[2], KEYS[3], head)
end
return 1
