-- Compares and deletes: removes the lock only if it is still the owner's.
-- KEYS[1] the lock, ARGV[1] the owner's token. Returns 1 when it was removed, 0 when it was not ours (any more).
if redis.call('GET', KEYS[1]) == ARGV[1] then
  return redis.call('DEL', KEYS[1])
end
return 0
