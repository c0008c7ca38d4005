-- Counts a party as there, or counts it no further if it is there already. The last one to come fixes the instant at
-- which all begin.
-- KEYS[1] who is there: party and until when, in microseconds. KEYS[2] what it is about: parties, terms, lead, start, and
-- who was the first to go after that.
-- ARGV[1] the party, ARGV[2] how many are to come, ARGV[3] the terms on which it comes, ARGV[4] how many microseconds
-- after the last has come it could begin, ARGV[5] for how many it counts as there, ARGV[6] the TTL of the keys in ms.
-- Returns 'full', or 'terms' with the parties and the terms of those who came before; or the instant of the start, ''
-- if some are still to come, who is gone, '' if nobody is, and everybody who is there.
-- All times are Redis' own, written out in full: Lua would round them.
local function full(n) return string.format('%.0f', n) end
local time = redis.call('TIME')
local now = time[1] * 1000000 + time[2]
local start = redis.call('HGET', KEYS[2], 'start')
local dead = redis.call('ZRANGEBYSCORE', KEYS[1], '-inf', full(now)) -- or stopped for so long that nobody can tell
for _, party in ipairs(dead) do
  redis.call('ZREM', KEYS[1], party)
  if start then
    redis.call('HSETNX', KEYS[2], 'gone', party)
  end
end
local there = redis.call('ZSCORE', KEYS[1], ARGV[1])
if not start and redis.call('ZCARD', KEYS[1]) == 0 then
  redis.call('DEL', KEYS[2]) -- the first to come says what it is about
  redis.call('HSET', KEYS[2], 'parties', ARGV[2], 'terms', ARGV[3], 'lead', ARGV[4])
end
local parties, terms = unpack(redis.call('HMGET', KEYS[2], 'parties', 'terms'))
if not there then
  if parties ~= ARGV[2] or terms ~= ARGV[3] then
    return {'terms', parties, terms}
  end
  if start or redis.call('ZCARD', KEYS[1]) >= tonumber(parties) then
    return {'full'}
  end
end
redis.call('ZADD', KEYS[1], full(now + ARGV[5]), ARGV[1])
local lead = math.max(tonumber(redis.call('HGET', KEYS[2], 'lead')), tonumber(ARGV[4]))
redis.call('HSET', KEYS[2], 'lead', full(lead))
if not start and redis.call('ZCARD', KEYS[1]) == tonumber(parties) then
  start = full(now + lead)
  redis.call('HSET', KEYS[2], 'start', start)
end
redis.call('PEXPIRE', KEYS[1], ARGV[6])
redis.call('PEXPIRE', KEYS[2], ARGV[6])
return {start or '', redis.call('HGET', KEYS[2], 'gone') or '', unpack(redis.call('ZRANGE', KEYS[1], 0, -1))}
