-- Releases a fair lock: sets the count to the given number, and at 0 removes the lock and notifies the first waiter in
-- the queue. It may be repeated, and it undoes an acquire whose outcome is indeterminate.
-- KEYS[1] the lock, KEYS[2] the queue, KEYS[3] the channel. ARGV[1] the owner, ARGV[2] the count that is left, ARGV[3]
-- PUBLISH, or SPUBLISH on a cluster. Returns 1 when the lock is free now, -n when the count is n, 0 when the lock was
-- not the owner's. It does not change the TTL. Only a renewal does.
if redis.call('HEXISTS', KEYS[1], ARGV[1]) == 0 then
  return 0
end
if ARGV[2] ~= '0' then
  redis.call('HSET', KEYS[1], ARGV[1], ARGV[2])
  return -tonumber(ARGV[2])
end
redis.call('DEL', KEYS[1])
local head = redis.call('LINDEX', KEYS[2], 0)
if head then
  redis.call(ARGV[3], KEYS[3], head)
end
return 1
