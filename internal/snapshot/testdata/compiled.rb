# Calls functions so often that a compiler compiles them, and then reads its input in the innermost.
def wait(last)
  $stdin.gets if last
  last
end

def inner(last)
  wait(last)
end

def each_of(last)
  [1].each { |_| inner(last) }
end

def outer(last)
  each_of(last)
end

i = 0
while i < 1000
  outer(false)
  i += 1
end
puts
$stdout.flush
outer(true)
