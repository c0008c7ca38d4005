-- Undoes an acquire of which nobody knows whether it was carried out, by setting the count to what it was before.
-- One off the count would be one too many if it was not. It may be repeated.
-- KEYS[1] the lock, KEYS[2] its channel. ARGV[1] the owner, ARGV[2] the count before, ARGV[3] PUBLISH or SPUBLISH.
-- Returns 1 if there was something to undo, else 0.
local count = tonumber(redis.call('HGET', KEYS[1], ARGV[1]) or '0')
if count <= tonumber(ARGV[2]) then
  return 0
end
if ARGV[2] == '0' then
  redis.call('DEL', KEYS[1])
  redis.call(ARGV[3], KEYS[2], 0)
else
  redis.call('HSET', KEYS[1], ARGV[1], ARGV[2])
end
return 1
