-- Takes an arrival back: the others wait for one more again or, if they have begun, see that somebody is missing.
-- KEYS[1] who is there, KEYS[2] what it is about. ARGV[1] the party. Returns 1.
redis.call('ZREM', KEYS[1], ARGV[1])
if redis.call('EXISTS', KEYS[1]) == 0 then
  redis.call('DEL', KEYS[2])
end
return 1
