-- Forgets the last fencing token drawn, if the lock is still the owner's: nobody else can have drawn one since.
-- KEYS[1] the lock, KEYS[2] the last token drawn, ARGV[1] the owner's token. Returns 1 when it was forgotten, or 0.
if redis.call('GET', KEYS[1]) == ARGV[1] then
  return redis.call('DEL', KEYS[2])
end
return 0
