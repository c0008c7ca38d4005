-- Writes the stock for the holder of a fencing token, unless a newer one has been seen, or the product is gone.
-- KEYS[1] the stock, KEYS[2] the newest token seen, ARGV[1] the token, ARGV[2] what is left, ARGV[3] for how many ms the
-- token is remembered of a product whose TTL has ended. Returns OK, false if there is no stock any more, or an error.
if redis.call('EXISTS', KEYS[1]) == 0 then
  return false
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
  redis.call('PEXPIRE', KEYS[2], ttl + ARGV[3])
end
return redis.call('SET', KEYS[1], ARGV[2], 'KEEPTTL')
