-- Acquire of a reentrant lock: takes it if it is free or the owner's already, and counts.
-- KEYS[1] the lock: a hash of owner to count, as Redisson's RLock keeps it. ARGV[1] the owner, ARGV[2] the TTL in ms,
-- ARGV[3] how often the owner holds it already, by its own account.
-- Returns the count; or when somebody else holds it -(1 + the ms until it ends), 0 if it does not end; or nil when the
-- owner's holds have ended: another may have been in meanwhile, so the lock must not come back under them.
-- The count is set, and not added to: what a lost release has left there would stay for ever. And a hold inside of
-- another lives by the other's lease, which a shorter TTL must not end sooner.
if ARGV[3] ~= '0' and redis.call('HEXISTS', KEYS[1], ARGV[1]) == 0 then
  return false
end
if redis.call('EXISTS', KEYS[1]) == 0 or redis.call('HEXISTS', KEYS[1], ARGV[1]) == 1 then
  local count = tonumber(ARGV[3]) + 1
  redis.call('HSET', KEYS[1], ARGV[1], string.format('%d', count))
  if redis.call('PTTL', KEYS[1]) < tonumber(ARGV[2]) then
    redis.call('PEXPIRE', KEYS[1], ARGV[2])
  end
  return count
end
return -1 - redis.call('PTTL', KEYS[1])
