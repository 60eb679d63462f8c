def rest(ms)
  sleep ms / 1000.0 if ms > 0
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

def down(depth, ms)
  return down(depth - 1, ms) if depth > 0

  one
  rest(ms)
  two
  rest(ms)
  three
  rest(ms)
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
