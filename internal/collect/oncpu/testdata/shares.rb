def burn(n)
  x = 0
  i = 0
  while i < n
    x += i * i % 7
    i += 1
  end
  x
end

def one(n)
  burn(n)
end

def two(n)
  burn(2 * n)
end

def three(n)
  burn(3 * n)
end

def down(depth, n)
  return down(depth - 1, n) if depth > 0

  one(n)
  two(n)
  three(n)
end

i = 0
while i < ARGV[0].to_i
  down(10, 1000)
  i += 1
end
