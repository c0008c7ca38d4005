-- Says what keys are, without changing them.
-- KEYS the keys. Returns the server's time, as seconds and microseconds, and then for each key: its type; and unless that
-- is none, a digest of all of it, its PTTL, and who has it as a lock: the value of a string, the fields of a hash, or the
-- members of a set.
local owners = {
  string = function(key) return {redis.call('GET', key)} end,
  hash = function(key) return redis.call('HKEYS', key) end,
  set = function(key) return redis.call('SMEMBERS', key) end,
  zset = function(key) return redis.call('ZRANGE', key, 0, -1) end,
}
local time = redis.call('TIME')
local looks = {time[1], time[2]}
for _, key in ipairs(KEYS) do
  local kind = redis.call('TYPE', key).ok
  local look = {kind}
  if kind ~= 'none' then
    look[2] = redis.sha1hex(redis.call('DUMP', key))
    look[3] = redis.call('PTTL', key)
    look[4] = owners[kind] and owners[kind](key) or {}
  end
  looks[#looks + 1] = look
end
return looks
