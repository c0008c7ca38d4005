-- Puts a number of units on the shelf, or the layout of a sharded product, whatever there was before, or takes the product
-- off it. Either way the newest token seen is raised by one: a holder who has read the stock by now is refused when it
-- writes, and cannot undo this. Tokens are microseconds, so the one that is drawn next is higher still.
-- KEYS[1] the stock, KEYS[2] the newest token seen, KEYS[3] the record of the shards, KEYS[4] the layouts that may have
-- keys, ARGV[1] how many units, '' for no stock without shards, ARGV[2] for how many ms the token is remembered of a
-- product that is gone, ARGV[3] for how many ms the product is there, 0 for good, ARGV[4] the layout, '' for no shards.
-- Returns the layouts that have to be removed first, in which case nothing was changed; nothing if it is done; or an error
-- if a later layout was made meanwhile, or this one was removed.
local layouts = redis.call('LRANGE', KEYS[4], 0, -1)
if ARGV[4] ~= '' and table.remove(layouts) ~= ARGV[4] then
  return redis.error_reply('OVERTAKEN by a later put')
end
if #layouts > 0 then
  return layouts
end
if redis.call('EXISTS', KEYS[2]) == 1 and type(redis.pcall('INCR', KEYS[2])) == 'table' then
  redis.call('DEL', KEYS[2]) -- it is no number: nobody can write under it, and this puts it right
end
redis.call('DEL', KEYS[1], KEYS[3])
local key, value = KEYS[1], ARGV[1]
if ARGV[4] ~= '' then
  key, value = KEYS[3], ARGV[4]
end
if value == '' then
  redis.call('PEXPIRE', KEYS[2], ARGV[2])
elseif ARGV[3] == '0' then
  redis.call('SET', key, value)
  redis.call('PERSIST', KEYS[2])
  redis.call('PERSIST', KEYS[4])
else
  redis.call('SET', key, value, 'PX', ARGV[3])
  redis.call('PEXPIRE', KEYS[2], ARGV[3] + ARGV[2])
  redis.call('PEXPIRE', KEYS[4], ARGV[3] + ARGV[2])
end
return layouts
