-- Check and decrement in one step: nothing can come between.
-- KEYS[1] the stock, ARGV[1] how many to take. Returns what is left; false if there is no stock; or, if there is not
-- enough, minus one minus what there is.
local left = redis.call('GET', KEYS[1])
if not left then
  return false
end
if tonumber(left) == nil then
  return redis.error_reply('WRONGTYPE the stock is not a number')
end
if tonumber(left) < tonumber(ARGV[1]) then
  return -1 - tonumber(left)
end
return redis.call('DECRBY', KEYS[1], ARGV[1])
