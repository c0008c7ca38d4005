-- Returns each database and key of the databases ARGV[2], ARGV[3] and so on. It stops beyond ARGV[1] keys.
local most = tonumber(ARGV[1])
local all = {}
for i = 2, #ARGV do
  redis.call('SELECT', ARGV[i])
  local cursor = '0'
  repeat
    local page = redis.call('SCAN', cursor, 'COUNT', 1000)
    cursor = page[1]
    for _, key in ipairs(page[2]) do
      all[#all + 1], all[#all + 2] = ARGV[i], key
    end
  until cursor == '0' or #all > 2 * most
end
return all
