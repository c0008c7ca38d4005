-- Releases a reentrant lock: sets the count to the given number, and at 0 removes the lock and notifies the waiters. It
-- may be repeated, and it undoes an acquire whose outcome is indeterminate.
-- KEYS[1] the lock, ARGV[1] the owner, ARGV[2] the count that is left, ARGV[3] PUBLISH, or SPUBLISH on a cluster,
-- ARGV[4] the lock's channel. Returns 1 when the lock is free now, -n when the count is n, 0 when the lock was not the
-- owner's.
-- It does not change the TTL. Only a renewal does. The channel is no key: while its slot moves, a cluster refuses a
-- script of which one key exists and another does not (TRYAGAIN).
if redis.call('HEXISTS', KEYS[1], ARGV[1]) == 0 then
  return 0
end
if ARGV[2] ~= '0' then
  redis.call('HSET', KEYS[1], ARGV[1], ARGV[2])
  return -tonumber(ARGV[2])
end
redis.call('DEL', KEYS[1])
redis.call(ARGV[3], ARGV[4], 0)
return 1
