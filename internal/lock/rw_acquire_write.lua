-- Acquire of the write lock: takes it when nobody is inside; else it leaves the mark of a writer that waits, which keeps
-- new readers out for as long as it lasts.
-- KEYS[1] the lock, see rw_acquire_read.lua. ARGV[1] the writer, ARGV[2] the TTL in ms, ARGV[3] its mark, or '' for one that
-- does not wait, ARGV[4] how long the mark lasts in ms. Returns 1, or 0 when it has to wait.
local time = redis.call('TIME')
local now = time[1] * 1000 + math.floor(time[2] / 1000)
redis.call('ZREMRANGEBYSCORE', KEYS[1], '-inf', now)
local got, member, lasts = 1, ARGV[1], tonumber(ARGV[2])
for _, one in ipairs(redis.call('ZRANGE', KEYS[1], 0, -1)) do
  if string.sub(one, 1, 2) ~= 'q:' then
    got, member, lasts = 0, ARGV[3], tonumber(ARGV[4])
  end
end
if got == 1 and ARGV[3] ~= '' then
  redis.call('ZREM', KEYS[1], ARGV[3])
end
if member ~= '' then
  redis.call('ZADD', KEYS[1], string.format('%.0f', now + lasts), member)
  redis.call('PEXPIRE', KEYS[1], math.max(lasts, redis.call('PTTL', KEYS[1])))
end
return got
