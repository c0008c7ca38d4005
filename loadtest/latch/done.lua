-- Says that a party needs the latch no more: it counts as there without coming again, and the last one to say so
-- removes the keys.
-- KEYS[1] who is there, KEYS[2] what it is about. ARGV[1] the party. Returns 1.
redis.call('ZADD', KEYS[1], 'XX', '+inf', ARGV[1])
if redis.call('ZCOUNT', KEYS[1], '+inf', '+inf') == redis.call('ZCARD', KEYS[1]) then
  redis.call('DEL', KEYS[1], KEYS[2])
end
return 1
