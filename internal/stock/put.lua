-- Puts a number of units on the shelf, whatever there was before, or takes the product off it. Either way the newest
-- token seen is raised by one: a holder who has read the stock by now is refused when it writes, and cannot undo this.
-- Tokens are microseconds, so the one that is drawn next is higher still.
-- KEYS[1] the stock, KEYS[2] the newest token seen, ARGV[1] how many units, '' for none, ARGV[2] for how many ms the token
-- is remembered of a product that is gone, ARGV[3] for how many ms the product is there, 0 for good. Returns 1.
if redis.call('EXISTS', KEYS[2]) == 1 and type(redis.pcall('INCR', KEYS[2])) == 'table' then
  redis.call('DEL', KEYS[2]) -- it is no number: nobody can write under it, and this puts it right
end
if ARGV[1] == '' then
  redis.call('DEL', KEYS[1])
  redis.call('PEXPIRE', KEYS[2], ARGV[2])
elseif ARGV[3] == '0' then
  redis.call('SET', KEYS[1], ARGV[1])
  redis.call('PERSIST', KEYS[2])
else
  redis.call('SET', KEYS[1], ARGV[1], 'PX', ARGV[3])
  redis.call('PEXPIRE', KEYS[2], ARGV[3] + ARGV[2])
end
return 1
