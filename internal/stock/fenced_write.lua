-- Writes the stock for the holder of a fencing token, unless a newer one has been seen.
-- KEYS[1] the stock, KEYS[2] the newest token seen, ARGV[1] the token, ARGV[2] what is left. Returns OK, or an error.
local newest = tonumber(redis.call('GET', KEYS[2]) or '0')
if tonumber(ARGV[1]) < newest then
  return redis.error_reply('STALE a newer token has been seen')
end
redis.call('SET', KEYS[2], ARGV[1])
return redis.call('SET', KEYS[1], ARGV[2])
