-- The renewal of the article's listing: it creates a lock that is gone again. This is the defect of v5-as-printed.
-- renew.lua is correct.
-- KEYS[1] the lock, ARGV[1] the owner's token, ARGV[2] the TTL in ms. Returns 1 when ours, 0 when another's.
local owner = redis.call('GET', KEYS[1])
if owner == ARGV[1] or not owner then
  redis.call('SET', KEYS[1], ARGV[1], 'PX', ARGV[2])
  return 1
end
return 0
