-- Check and decrement in one step: nothing can come between.
-- KEYS[1] the stock, ARGV[1] how many to take. Returns 1 and what is left; or 0 and what there is, if that is not enough;
-- false if there is no stock; or an error.
local value = redis.pcall('GET', KEYS[1]) -- a table if it is of another type
if not value then
  return false
end
-- What counts as a number of units is the same on every shelf: see parse in shelf.go. Lua takes more than that for a
-- number, "1e3" and "inf" too, and from 2^53 on it cannot tell neighbours apart.
local units = type(value) == 'string' and tonumber(value)
if not (units and units > -2^53 and units < 2^53 and value == string.format('%.0f', units) and value ~= '-0') then
  return redis.error_reply('CORRUPT ' .. KEYS[1])
end
if units < tonumber(ARGV[1]) then
  return {0, units}
end
return {1, redis.call('DECRBY', KEYS[1], ARGV[1])}
