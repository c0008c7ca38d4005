-- Takes an arrival back: the others wait for one more again or, if they have begun, see who is gone.
-- KEYS[1] who is there, KEYS[2] what it is about. ARGV[1] the party. Returns 1.
if redis.call('ZREM', KEYS[1], ARGV[1]) == 1 and redis.call('HEXISTS', KEYS[2], 'start') == 1 then
  redis.call('HSETNX', KEYS[2], 'gone', ARGV[1]) -- those who leave because somebody else has are not to blame
end
if redis.call('EXISTS', KEYS[1]) == 0 then
  redis.call('DEL', KEYS[2])
end
return 1
