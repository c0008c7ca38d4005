-- Release of a reentrant lock: gives holds back until so many are left, and with the last one the lock; then it tells
-- those who wait. It may be repeated, and undoes an acquire of which nobody knows whether it was carried out.
-- KEYS[1] the lock, KEYS[2] its channel. ARGV[1] the owner, ARGV[2] how many holds are left, ARGV[3] PUBLISH, or SPUBLISH
-- on a cluster. Returns 1 when the lock is free now, -n when n holds are left, 0 when it was not the owner's.
-- How long the lease lasts does not change: that is its renewing's business.
if redis.call('HEXISTS', KEYS[1], ARGV[1]) == 0 then
  return 0
end
if ARGV[2] ~= '0' then
  redis.call('HSET', KEYS[1], ARGV[1], ARGV[2])
  return -tonumber(ARGV[2])
end
redis.call('DEL', KEYS[1])
redis.call(ARGV[3], KEYS[2], 0)
return 1
