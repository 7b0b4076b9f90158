/**
 * What is done inside Redis (or Valkey), each command in one step that nobody comes between. The same as `memoryState`
 * does in memory; both are held against each other by the same tests.
 *
 * KEYS: meta (hash), lanes (hash: "attempts position"), used (sorted set: lanes by their last use), rules (hash: id →
 * JSON with id, spec, endsAtMs), hits, left (hashes by id), spent (list of JSON), changes (a channel, no key).
 * Per rule: misses:ID (list), keys:ID (hash: value → "nth sinceMs"), keyuse:ID (sorted set). All keys of a group have
 * one hash tag, so they are on one node of a cluster.
 */
const COMMON = `
local meta, lanes, used, rules, hits, left, spent, changes = unpack(KEYS)
local prefix = string.sub(meta, 1, -5)
local MAX_SPENT, MAX_MISSES, MAX_KEYS = 100, 10, 10000

local function now_ms()
  local time = redis.call('TIME')
  return tonumber(time[1]) * 1000 + math.floor(tonumber(time[2]) / 1000)
end

local function list(json) return #json == 0 and '[]' or '[' .. table.concat(json, ',') .. ']' end

-- A rule with its counts; the spec stays the text that it came as.
local function shown(id, text, whole)
  local rule = cjson.decode(text)
  local count = redis.call('HGET', left, id)
  local json = '{"id":' .. id .. ',"spec":' .. rule.spec .. ',"hits":' .. (redis.call('HGET', hits, id) or '0') ..
    ',"left":' .. (count or 'null')
  if whole then json = json .. ',"misses":' .. list(redis.call('LRANGE', prefix .. 'misses:' .. id, 0, -1)) end
  return json .. '}', rule
end

-- In the order in which they are tested: the one for everybody comes last.
local function in_order()
  local all = {}
  local flat = redis.call('HGETALL', rules)
  for i = 1, #flat, 2 do
    local rule = cjson.decode(flat[i + 1])
    all[#all + 1] = { id = tonumber(flat[i]), text = flat[i + 1], default = rule.default, ends = rule.endsAtMs }
  end
  table.sort(all, function(a, b)
    if a.default ~= b.default then return b.default end
    return a.id < b.id
  end)
  return all
end

local function changed()
  redis.call('HINCRBY', meta, 'version', 1)
  redis.call('PUBLISH', changes, 'rules')
end

local function forget(id)
  redis.call('HDEL', rules, id)
  redis.call('HDEL', hits, id)
  redis.call('HDEL', left, id)
  redis.call('DEL', prefix .. 'misses:' .. id, prefix .. 'keys:' .. id, prefix .. 'keyuse:' .. id)
end

local function finish(id)
  local text = redis.call('HGET', rules, id)
  redis.call('RPUSH', spent, (shown(id, text, true)))
  redis.call('LTRIM', spent, -MAX_SPENT, -1)
  forget(id)
  changed()
end

-- Ends the rules whose time is over. The clock is that of Redis, the same for all.
local function expire(next_end)
  if not next_end or next_end == '' or now_ms() < tonumber(next_end) then return end
  local now, nearest = now_ms(), ''
  for _, rule in ipairs(in_order()) do
    if rule.ends and rule.ends <= now then finish(rule.id)
    elseif rule.ends and (nearest == '' or rule.ends < nearest) then nearest = rule.ends end
  end
  redis.call('HSET', meta, 'nextEnd', nearest)
end

local function book(whole)
  local json = {}
  for _, rule in ipairs(in_order()) do json[#json + 1] = (shown(rule.id, rule.text, whole)) end
  return '"version":' .. redis.call('HGET', meta, 'version') .. ',"rules":' .. list(json)
end

local function add(id, given)
  local rule = { spec = given.spec, default = given.default }
  if given.ttlMs then
    rule.endsAtMs = now_ms() + given.ttlMs
    local next_end = redis.call('HGET', meta, 'nextEnd')
    if not next_end or next_end == '' or rule.endsAtMs < tonumber(next_end) then
      redis.call('HSET', meta, 'nextEnd', rule.endsAtMs)
    end
  end
  if given.default then
    for _, other in ipairs(in_order()) do if other.default then forget(other.id) end end
  end
  redis.call('HSET', rules, id, cjson.encode(rule))
  if given.left then redis.call('HSET', left, id, given.left) end
end

-- Nothing is known of a group that was never begun, or that Redis has lost.
if COMMAND ~= 'begin' and redis.call('HEXISTS', meta, 'version') == 0 then return '{"kind":"fresh"}' end
`;

/** ARGV: an ask as JSON. Returns what was taken as JSON. */
const TAKE = `
local ask = cjson.decode(ARGV[1])
local m = redis.call('HMGET', meta, 'version', 'generation', 'dropped', 'nextEnd', 'maxLanes')
if m[4] and m[4] ~= '' then
  expire(m[4])
  m[1] = redis.call('HGET', meta, 'version')
end
if tonumber(m[1]) ~= ask.version then return '{"kind":"stale","book":{' .. book(false) .. '}}' end

local attempts, position = 0, 0
local cursor = redis.call('HGET', lanes, ask.lane)
if cursor then
  local a, p = string.match(cursor, '^(%d+) (%d+)$')
  attempts, position = tonumber(a), tonumber(p)
end
local attempt = attempts + 1
local function told(kind)
  return '{"kind":"' .. kind .. '","attempts":' .. attempts .. ',"position":' .. position .. '}'
end

local function taken(by, more)
  local exchange = redis.call('HINCRBY', meta, 'exchanges', 1)
  local moved = by == 'script' and position + 1 or position
  redis.call('HSET', lanes, ask.lane, string.format('%d %d', attempt, moved))
  redis.call('ZADD', used, exchange, ask.lane)
  local dropped = tonumber(m[3] or '0')
  if redis.call('ZCARD', used) > tonumber(m[5]) then
    local oldest = redis.call('ZPOPMIN', used)
    redis.call('HDEL', lanes, oldest[1])
    dropped = redis.call('HINCRBY', meta, 'dropped', 1)
  end
  return '{"kind":"taken","by":"' .. by .. '"' .. (more or '') .. ',"attempts":' .. attempts .. ',"position":' ..
    position .. ',"generation":' .. m[2] .. ',"droppedLanes":' .. dropped .. ',"exchange":' .. exchange .. '}'
end

local function by_due(due, number, by)
  local at = number - due.from + 1
  local bit = at >= 1 and (at <= #due.bits and string.sub(due.bits, at, at) or due.rest) or nil
  if bit == nil then return told('again') end
  return bit == '1' and taken(by) or told('none')
end

local function miss(id, why)
  if not ask.whole or redis.call('HEXISTS', rules, id) == 0 then return end
  local key = prefix .. 'misses:' .. id
  redis.call('LPUSH', key, cjson.encode({ lane = ask.lane, attempt = attempt, path = ask.path, why = why }))
  redis.call('LTRIM', key, 0, MAX_MISSES - 1)
end

if ask.asked then return by_due(ask.asked, attempt, 'asked') end
for _, rule in ipairs(ask.rules) do
  local id = string.format('%d', rule.id)
  local nth, since, why = 0, nil, rule.why
  local count = redis.call('HGET', left, id)
  if rule.key then
    local use = redis.call('HGET', prefix .. 'keys:' .. id, rule.key)
    if use then
      local n, s = string.match(use, '^(%d+) (%d+)$')
      nth, since = tonumber(n), s
    elseif count == '0' then why = ARGV[2] end
  end
  -- The first request with a key decided for all of them.
  if nth == 0 and not why and rule.below then
    local drawn = attempt >= rule.from and rule.drawn[attempt - rule.from + 1] or nil
    if not drawn then return told('again') end
    if drawn >= rule.below then why = string.format('drawn %.3f, not below %s', drawn, tostring(rule.below)) end
  end
  if why then miss(id, why)
  else
    local due = rule.due
    if nth > 0 then due = rule.dueLater end
    if not due then return told('none') end
    nth = nth + 1
    redis.call('HINCRBY', hits, id, 1)
    local more = ',"rule":' .. id
    if rule.key then
      since = since or string.format('%.0f', now_ms())
      local keys, keyuse = prefix .. 'keys:' .. id, prefix .. 'keyuse:' .. id
      redis.call('HSET', keys, rule.key, string.format('%d %s', nth, since))
      redis.call('ZADD', keyuse, redis.call('HGET', hits, id), rule.key)
      if redis.call('ZCARD', keyuse) > MAX_KEYS then redis.call('HDEL', keys, redis.call('ZPOPMIN', keyuse)[1]) end
      more = more .. ',"key":' .. cjson.encode(rule.key) .. ',"nth":' .. nth .. ',"sinceMs":' .. since
    end
    if count and nth == 1 then
      -- One with keys still answers those that it knows.
      if redis.call('HINCRBY', left, id, -1) == 0 and not rule.key then finish(id) end
    end
    return taken('rule', more)
  end
end
if ask.unsure then return told('none') end
return by_due(ask.script, position + 1, 'script')
`;

const BOOK = `
expire(redis.call('HGET', meta, 'nextEnd'))
return '{"kind":"book",' .. book(true) .. ',"spent":' .. list(redis.call('LRANGE', spent, 0, -1)) .. '}'
`;

/** ARGV: a rule as JSON. */
const INJECT = `
local id = redis.call('HINCRBY', meta, 'ids', 1)
add(string.format('%d', id), cjson.decode(ARGV[1]))
changed()
return '{"kind":"rule","rule":' .. (shown(id, redis.call('HGET', rules, id), true)) .. '}'
`;

/** ARGV: the rule's number, or '' for all. */
const REMOVE = `
expire(redis.call('HGET', meta, 'nextEnd'))
local count = 0
for _, rule in ipairs(in_order()) do
  if ARGV[1] == '' or rule.id == tonumber(ARGV[1]) then
    forget(string.format('%d', rule.id))
    count = count + 1
  end
end
if count > 0 then changed() end
return '{"kind":"removed","count":' .. count .. '}'
`;

const RESET = `
redis.call('DEL', lanes, used)
return '{"kind":"reset","generation":' .. redis.call('HINCRBY', meta, 'generation', 1) .. '}'
`;

/**
 * ARGV: JSON with config, seed, maxLanes, rules, and the least generation, exchange and instance to go on from. A group
 * that exists is joined, if its configuration is the same.
 */
const BEGIN = `
local given = cjson.decode(ARGV[1])
local made = redis.call('HEXISTS', meta, 'version') == 0
if made then
  redis.call('DEL', lanes, used, rules, hits, left, spent)
  redis.call('HSET', meta, 'version', given.version, 'generation', given.generation, 'exchanges', given.exchanges,
    'instances', given.instances, 'ids', 0, 'dropped', 0, 'nextEnd', '', 'maxLanes', given.maxLanes,
    'config', given.config, 'seed', given.seed)
  for _, rule in ipairs(given.rules) do add(string.format('%d', redis.call('HINCRBY', meta, 'ids', 1)), rule) end
end
local m = redis.call('HMGET', meta, 'config', 'seed', 'generation')
local instance = given.instance or redis.call('HINCRBY', meta, 'instances', 1)
return '{"kind":"begun","made":' .. tostring(made) .. ',"config":"' .. m[1] .. '","seed":' .. m[2] ..
  ',"generation":' .. m[3] .. ',"instance":' .. instance .. '}'
`;

const script = (name: string, body: string): string => `local COMMAND = '${name}'\n${COMMON}\n${body}`;

/** Each has as KEYS those that are named above. */
export const REDIS_SCRIPTS = {
  wirefaultTake: script('take', TAKE),
  wirefaultBook: script('book', BOOK),
  wirefaultInject: script('inject', INJECT),
  wirefaultRemove: script('remove', REMOVE),
  wirefaultReset: script('reset', RESET),
  wirefaultBegin: script('begin', BEGIN),
} as const;

/** Behind the group's prefix, in the order of KEYS. */
export const REDIS_KEYS = ['meta', 'lanes', 'used', 'rules', 'hits', 'left', 'spent', 'changes'] as const;
