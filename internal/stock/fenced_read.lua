-- Reads the stock for the holder of a fencing token, and remembers the token: from now on every older one is refused.
-- Reading has to be fenced too. If only writes were, two holders could both read, and then both write, the one with
-- the older token first: each write finds its token the newest yet, and the same unit is sold twice.
-- KEYS[1] the stock, KEYS[2] the newest token seen, ARGV[1] the token, ARGV[2] for how many ms it is
-- remembered of a product whose TTL has ended. Returns the stock (false: none), or an error.
local left = redis.pcall('GET', KEYS[1]) -- a table if it is of another type
if not left then
  return false
end
if type(left) ~= 'string' then
  return redis.error_reply('CORRUPT ' .. KEYS[1])
end
local newest = redis.pcall('GET', KEYS[2]) or '0'
if type(newest) ~= 'string' or not string.find(newest, '^%d+$') then
  return redis.error_reply('CORRUPT ' .. KEYS[2])
end
if tonumber(ARGV[1]) < tonumber(newest) then
  return redis.error_reply('STALE a newer token has been seen: ' .. newest)
end
redis.call('SET', KEYS[2], ARGV[1], 'KEEPTTL')
local ttl = redis.call('PTTL', KEYS[1])
if ttl > 0 then
  redis.call('PEXPIRE', KEYS[2], ttl + ARGV[2])
end
return left
