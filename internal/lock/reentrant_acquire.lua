-- Acquire of a reentrant lock: takes it if it is free or the owner's already, and counts.
-- KEYS[1] the lock: a hash of owner to count, as Redisson's RLock keeps it. ARGV[1] the owner, ARGV[2] the TTL in ms.
-- Returns the count; or when somebody else holds it -(1 + the ms until it ends), 0 if it does not end.
if redis.call('EXISTS', KEYS[1]) == 0 or redis.call('HEXISTS', KEYS[1], ARGV[1]) == 1 then
  local count = redis.call('HINCRBY', KEYS[1], ARGV[1], 1)
  redis.call('PEXPIRE', KEYS[1], ARGV[2])
  return count
end
return -1 - redis.call('PTTL', KEYS[1])
