-- Returns the state of keys, without changing them.
-- ARGV has the keys, each preceded by its database's number. The result is the server's time, in seconds and
-- microseconds, and then for each key its type, its expiry in ms (negative: none), and its parts, each as a name and a
-- value: the value of a string, named ''; the fields of a hash; the members of a set, without a value, or of a sorted
-- set, with their scores; the elements of a list by index, from 0. For a key of more than 64 KB, or of another type,
-- parts is 0.
local most = 65536
local parts = {
  string = function(key) return {'', redis.call('GET', key)} end,
  hash = function(key) return redis.call('HGETALL', key) end,
  set = function(key)
    local all = {}
    for _, member in ipairs(redis.call('SMEMBERS', key)) do
      all[#all + 1], all[#all + 2] = member, ''
    end
    return all
  end,
  zset = function(key) return redis.call('ZRANGE', key, 0, -1, 'WITHSCORES') end,
  list = function(key)
    local all = {}
    for place, value in ipairs(redis.call('LRANGE', key, 0, -1)) do
      all[#all + 1], all[#all + 2] = tostring(place - 1), value
    end
    return all
  end,
}
-- endOf returns the expiry of a key. Before Redis 7 a server reports only the remaining TTL, by a clock that keeps
-- running.
local function endOf(key)
  local ends = redis.pcall('PEXPIRETIME', key)
  if type(ends) == 'number' then
    return ends
  end
  local now, left = redis.call('TIME'), redis.call('PTTL', key)
  return left < 0 and left or now[1] * 1000 + math.floor(now[2] / 1000) + left
end
local time = redis.call('TIME')
local looks = {time[1], time[2]}
for i = 1, #ARGV, 2 do
  local key = ARGV[i + 1]
  redis.call('SELECT', ARGV[i])
  local kind = redis.call('TYPE', key).ok
  local look = {kind, endOf(key), {}}
  if kind ~= 'none' then
    local small = parts[kind] and redis.call('MEMORY', 'USAGE', key) <= most
    look[3] = small and parts[kind](key) or 0
  end
  looks[#looks + 1] = look
end
return looks
