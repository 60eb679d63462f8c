def burn(n)
  x = 0
  i = 0
  while i < n
    x += i * i % 7
    i += 1
  end
  x
end

def one
  Process.ppid
end

def two
  Process.ppid
  Process.ppid
end

def three
  Process.ppid
  Process.ppid
  Process.ppid
end

def down(depth, n)
  return down(depth - 1, n) if depth > 0

  one
  burn(n)
  two
  burn(n)
  three
  burn(n)
end

$stdout.sync = true
puts "ready"
$stdin.gets
i = 0
while i < ARGV[0].to_i
  down(10, ARGV[1].to_i)
  i += 1
end
puts "done"
$stdin.gets
