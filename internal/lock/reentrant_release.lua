-- Release of a reentrant lock: gives back one hold, and with the last one the lock; then it tells those who wait.
-- KEYS[1] the lock, KEYS[2] its channel. ARGV[1] the owner, ARGV[2] the TTL in ms, ARGV[3] PUBLISH, or SPUBLISH on a
-- cluster. Returns 1 when the lock is free now, -n when n holds are left, 0 when it was not the owner's.
if redis.call('HEXISTS', KEYS[1], ARGV[1]) == 0 then
  return 0
end
local count = redis.call('HINCRBY', KEYS[1], ARGV[1], -1)
if count > 0 then
  redis.call('PEXPIRE', KEYS[1], ARGV[2])
  return -count
end
redis.call('DEL', KEYS[1])
redis.call(ARGV[3], KEYS[2], 0)
return 1
