-- Every library of Lua, coroutines, errors and the collector; arg[1]: how often. Prints what must be the same in
-- every build.
local rounds = tonumber(arg and arg[1]) or 1
local seed = 12345
local function random(n)
  seed = (seed * 1103515245 + 12345) % 2147483648
  return seed % n
end
local sum = 0
local function add(value)
  sum = (sum * 31 + value) % 1000000007
end
local function add_text(text)
  for i = 1, #text, 7 do
    add(text:byte(i))
  end
end

local function sieve(n)
  local composite, count = {}, 0
  for i = 2, n do
    if not composite[i] then
      count = count + 1
      for j = i * i, n, i do
        composite[j] = true
      end
    end
  end
  return count
end

local function sorts()
  local values = {}
  for i = 1, 2000 do
    values[i] = random(100000)
  end
  table.sort(values)
  for i = 2, #values do
    assert(values[i - 1] <= values[i])
  end
  table.sort(values, function(a, b) return a % 1000 > b % 1000 or (a % 1000 == b % 1000 and a > b) end)
  add(values[1] + values[#values] + #table.concat(values, ",", 1, 100))
  table.move(values, 1, 500, 300)
  table.insert(values, 1, table.remove(values, 77))
  add(select("#", table.unpack(values, 1, 50)) + table.pack(1, nil, 3).n)
end

local function strings()
  local words = {}
  for i = 1, 300 do
    words[#words + 1] = string.format("%05d-%x-%q-%g", i, i * 77, "w" .. i, i / 3)
  end
  local text = table.concat(words, " ")
  add(#text)
  add(select(2, text:gsub("%d+", function(digits) return digits:reverse() end)))
  add_text((text:gsub("(%w+)-(%w+)", "%2-%1")):upper():rep(2, "|"))
  for key, value in text:gmatch("(%d+)-(%x+)") do
    add(tonumber(key) + tonumber(value, 16))
  end
  add(text:find("00150", 1, true))
  add(#string.pack("<i4 z s2 d", 7, "zero", "counted", 0.5))
  add(select(3, string.unpack("<i4 z s2", string.pack("<i4 z s2", 7, "zero", "counted"))) == "counted" and 1 or 0)
  for _, code in utf8.codes("plaited cordage: \u{e4}\u{20ac}\u{1f9f5}") do
    add(code)
  end
  add(utf8.len("\u{20ac}\u{20ac}"))
end

local function coroutines()
  local function walk(tree)
    if tree then
      walk(tree[1])
      coroutine.yield(tree[2])
      walk(tree[3])
    end
  end
  local function grow(depth)
    return depth > 0 and {grow(depth - 1), random(1000), grow(depth - 1)} or nil
  end
  local tree = grow(8)
  for value in coroutine.wrap(function() walk(tree) end) do
    add(value)
  end
  local fails = coroutine.create(function()
    local guard <close> = setmetatable({}, {__close = function() add(17) end})
    coroutine.yield(1)
    error({code = 42})
  end)
  coroutine.resume(fails)
  local ok, why = coroutine.resume(fails)
  add(ok and 0 or why.code)
  add(coroutine.close(fails) and 1 or 2)
end

local function errors()
  local function deep(n)
    if n == 0 then
      error("bottom", 0)
    end
    return deep(n - 1) + 1
  end
  local _, why = pcall(deep, 100)
  add(#why)
  add(#select(2, xpcall(deep, function(message) return message .. message end, 50)))
  add(select(2, pcall(function() return nil + 1 end)):find("arithmetic", 1, true))
  local function overflow() return overflow() + 1 end
  add(select(2, pcall(overflow)):find("stack overflow", 1, true) and 5 or 6)
  add(load("return 6 * 7")())
  add(load("return syntax error") == nil and 8 or 9)
end

local function objects()
  local vector = {}
  vector.__index = vector
  vector.__add = function(a, b) return setmetatable({x = a.x + b.x, y = a.y + b.y}, vector) end
  vector.__eq = function(a, b) return a.x == b.x and a.y == b.y end
  vector.__call = function(self, factor) return self.x * factor end
  vector.__tostring = function(self) return self.x .. "," .. self.y end
  local total = setmetatable({x = 0, y = 0}, vector)
  for i = 1, 1000 do
    total = total + setmetatable({x = i, y = -i / 2}, vector)
  end
  add(total(2))
  add_text(tostring(total))
  local weak = setmetatable({}, {__mode = "k"})
  for i = 1, 200 do
    weak[{}] = string.rep("x", i)
  end
  collectgarbage()
  add(next(weak) == nil and 3 or 4)
  collectgarbage("generational")
  for i = 1, 2000 do
    weak[i % 10] = {i}
  end
  collectgarbage("incremental")
  collectgarbage("step", 100)
end

local function numbers()
  local value = 0.5
  for i = 1, 3000 do
    value = value + math.sin(i) * math.sqrt(i) / (1 + math.exp(-i / 1000)) - math.floor(value / 10)
    add((i << 3 ~ i >> 2) & 0xffff | i // 7)
  end
  add(math.tointeger(math.floor(value * 1000) % 100000))
  add(math.ult(1, -1) and 1 or 0)
  add_text(string.format("%.10f %a", value, 1 / 3))
  add(#os.date("!%Y-%m-%d", 86400) + os.time({year = 2000, month = 1, day = 1, hour = 12}) % 10)
  add(#tostring(math.maxinteger // -1) + math.abs(math.mininteger + 1) % 1000)
end

local function files()
  local file = assert(io.tmpfile())
  for i = 1, 200 do
    file:write(i, " ", i * i, "\n")
  end
  file:seek("set")
  for a, b in function() return file:read("n", "n") end do
    add(a + b)
  end
  file:close()
  add(#debug.traceback("here", 1) > 0 and debug.getinfo(files, "S").linedefined or 0)
end

for _ = 1, rounds do
  add(sieve(20000))
  sorts()
  strings()
  coroutines()
  errors()
  objects()
  numbers()
  files()
end
print(string.format("lua %d", sum))
