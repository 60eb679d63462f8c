$reader, $writer = IO.pipe

def nap(depth, seconds)
  return nap(depth - 1, seconds) if depth > 0

  sleep(seconds)
end

def hold(depth, seconds)
  return hold(depth - 1, seconds) if depth > 0

  IO.select([$reader], nil, nil, seconds)
end

i = 0
while i < ARGV[0].to_i
  nap(10, ARGV[1].to_i / 1e6)
  hold(10, ARGV[1].to_i / 1e6)
  i += 1
end
