-- Compares and extends: gives the owner's lock a new TTL. It does not create a lock that is gone: since its end another
-- owner may have held the lock, and changed the stock.
-- KEYS[1] the lock, ARGV[1] the owner's token, ARGV[2] the TTL in ms. Returns 1 when extended, 0 when not ours.
if redis.call('GET', KEYS[1]) == ARGV[1] then
  return redis.call('PEXPIRE', KEYS[1], ARGV[2])
end
return 0
