-- Renews a reentrant lock if it is still the owner's.
-- KEYS[1] the lock, ARGV[1] the owner, ARGV[2] the TTL in ms. Returns 1, or 0.
if redis.call('HEXISTS', KEYS[1], ARGV[1]) == 0 then
  return 0
end
return redis.call('PEXPIRE', KEYS[1], ARGV[2])
