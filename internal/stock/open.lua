-- Puts a product on the shelf if it is not there.
-- KEYS[1] the stock, ARGV[1] how many units, ARGV[2] for how many ms the product is there, 0 for good. Returns 1 if it was
-- put there, 0 if it was there.
if redis.call('EXISTS', KEYS[1]) == 1 then
  return 0
end
if ARGV[2] == '0' then
  redis.call('SET', KEYS[1], ARGV[1])
else
  redis.call('SET', KEYS[1], ARGV[1], 'PX', ARGV[2])
end
return 1
