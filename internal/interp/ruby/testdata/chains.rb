# Threads that stand still in chains of calls of every kind. It prints one line of JSON:
# thread id → [[function, file, line], …], leaf first, without methods of C. Argument: the
# seed.
require "json"

$block, _ = IO.pipe
$ids = {}

def stand = $block.sysread(1)

def here = $ids[Thread.current] = File.readlink("/proc/thread-self").split("/")[-1].to_i

class Model
  attr_writer :x
  define_method(:defined) { |n| [3, 1].sort_by { |x| run(n) } }
  def self.make(n)
    begin
      raise KeyError
    rescue KeyError
      new.defined(n)
    ensure
      1
    end
  end

  def run(n)
    n > 0 ? self.then { run(
      n - 1
    ) } : missing(n)
  end

  def method_missing(name, n)
    return super unless name == :missing
    Fiber.new { Enumerator.new { |y| y << stand }.next }.resume if n > 100
    eval("\n\n[1].each { |x| stand }\n")
  end
  class << self
    def in_class(n)
      Class.new do
        n > 0 ? Model.in_class(n - 1) : stand
      end
    end
  end
end

def random(depth, seed)
  return stand if depth == 0
  case (depth * 13 + depth * seed + seed) % 6
  when 0 then random(depth - 1, seed)
  when 1
    [1].each do |x|
      random(depth - 1, seed)
    end
  when 2
    begin
      Integer("x")
    rescue ArgumentError
      random(depth - 1, seed)
    end
  when 3
    f = lambda { |d|
      random(d - 1,
             seed)
    }
    f.(depth)
  when 4
    send(:random, depth - 1, seed)
  else
    x = [
      1,
      { a: random(depth - 1, seed) },
    ]
    x
  end
end

far = "def far\n" + "\n" * 300 + (0...900).map { |i| "  a#{i} = #{i} + rand\n" }.join + "  stand\nend\n"
eval(far, TOPLEVEL_BINDING, "/nowhere/fär.rb", 5)

seed = ARGV[0].to_i
kinds = [-> { stand }, -> { Model.make(10) }, -> { Model.in_class(3) }, -> { far() }]
kinds += (0...20).map { |i| -> { random(1 + (seed + i) * 7 % 60, seed + i) } }

def stands(tid) = File.read("/proc/self/task/#{tid}/syscall").split[0, 2] == ["0", "0x%x" % $block.fileno]

def stands_in_poll(tid) = %w[7 271].include?(File.read("/proc/self/task/#{tid}/syscall").split[0])

def all_stand(n) = $ids.size == n && $ids.values.all? { |tid| stands(tid) || stands_in_poll(tid) }

# One after another: Ruby 3.1 may crash where many threads begin at once.
kinds.each_with_index do |kind, i|
  Thread.new { here; kind.call }
  sleep 0.001 until all_stand(i + 1)
end

Thread.new do
  sleep 0.01 until all_stand(kinds.size + 1)
  chains = $ids.to_h do |thread, tid|
    of_c = %w[sysread each eval sort_by new initialize Integer]
    [tid, thread.backtrace_locations.map { |l| [l.label, l.path, l.lineno] }.reject { |l| of_c.include?(l[0]) }]
  end
  puts chains.to_json
  $stdout.flush
  stand
end

here
[1].each { stand }
