$kept = []

def one
  $kept << "x" * 100000
end

def two
  $kept << "x" * 100000
  $kept << "x" * 100000
end

def three
  $kept << "x" * 100000
  $kept << "x" * 100000
  $kept << "x" * 100000
end

def down(depth, rest)
  return down(depth - 1, rest) if depth > 0

  one
  sleep rest
  two
  sleep rest
  three
  sleep rest
end

$stdout.sync = true
puts "ready"
$stdin.gets
i = 0
while i < ARGV[0].to_i
  down(10, ARGV[1].to_f)
  i += 1
end
puts "done"
$stdin.gets
