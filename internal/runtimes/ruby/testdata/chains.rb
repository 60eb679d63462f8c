# Threads that stand still in chains of calls of every kind. It prints one line of JSON:
# thread id → [[function, file, line], …], leaf first, without methods of C, nor since 3.4 of
# what Ruby shows as such. Argument: the seed.
$block, _ = IO.pipe
$ids = {}

def stand; $block.sysread(1); end

def here; $ids[Thread.current] = File.readlink("/proc/thread-self").split("/")[-1].to_i; end

module Kernel
  alias then yield_self unless Object.method_defined?(:then)
end

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

def stands(tid)
  call = File.read("/proc/self/task/#{tid}/syscall").split
  call[0, 2] == ["0", "0x%x" % $block.fileno] || %w[7 271].include?(call[0]) # read, poll, ppoll
end

def all_stand(n); $ids.size == n && $ids.values.all? { |tid| stands(tid) }; end

# One after another: Ruby 3.1 may crash where many threads begin at once.
kinds.each_with_index do |kind, i|
  Thread.new { here; kind.call }
  sleep 0.001 until all_stand(i + 1)
end

Thread.new do
  sleep 0.01 until all_stand(kinds.size + 1)
  of_c = %w[sysread each eval sort_by new initialize Integer then]
  chains = $ids.map do |thread, tid|
    told = thread.backtrace_locations.reject do |l|
      internal = l.path.start_with?("<internal:")
      internal ? RUBY_VERSION >= "3.4" : of_c.include?(l.label.split(/[#.]/)[-1])
    end
    "\"#{tid}\":[" + told.map { |l| "[#{l.label.inspect},#{l.path.inspect},#{l.lineno}]" }.join(",") + "]"
  end
  puts "{" + chains.join(",") + "}"
  $stdout.flush
  stand
end

here
[1].each { stand }
