-- Compare and extend: gives the owner's lock a new TTL. A lock that is gone stays gone: between its end and now
-- another may have come and left, and whatever it did was done without us knowing.
-- KEYS[1] the lock, ARGV[1] the owner's token, ARGV[2] the TTL in ms. Returns 1 when extended, 0 when not ours.
if redis.call('GET', KEYS[1]) == ARGV[1] then
  return redis.call('PEXPIRE', KEYS[1], ARGV[2])
end
return 0
