-- Acquires a reentrant lock: takes it if it is free or the owner's already, and counts.
-- KEYS[1] the lock: a hash of owner to count, as Redisson's RLock keeps it. ARGV[1] the owner, ARGV[2] the TTL in ms,
-- ARGV[3] how often the owner holds it already, by the owner's own count.
-- Returns the new count. When somebody else holds the lock: -(1 + the ms until it expires), or 0 if it does not expire.
-- Returns nil when the owner's outer lease has ended: another owner may have held the lock since, so a nested acquire
-- must not revive the lease.
-- The script sets the count and does not increment it: otherwise the count of a lost release would stay for ever. A
-- nested acquire shares the outer lease, and its shorter TTL must not shorten that.
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
