# Threads that stand still in chains of calls of every kind, and what these chains are as
# Python itself sees them. It prints one line of JSON: thread id → [[function, file, line], …],
# leaf first. Arguments: threads with random chains, and the seed.
import asyncio, contextlib, functools, json, os, random, sys, threading, time

block_fd, _ = os.pipe()
ids = {}


def stand():
    os.read(block_fd, 1)


def here():
    ids[threading.get_ident()] = int(os.readlink("/proc/thread-self").split("/")[-1])


def recursion(n):
    if n == 0:
        return stand()
    return (
        recursion(n - 1)
        + 1
    )


def generators(n):
    if n == 0:
        stand()
        yield 1
    yield from generators(n - 1)


def nested_generators():
    for _ in generators(30):
        pass


async def coroutine(n):
    if n == 0:
        stand()
    async with Manager():
        await coroutine(n - 1)


class Manager:
    async def __aenter__(self):
        return self

    async def __aexit__(self, *why):
        pass


def coroutines():
    coroutine(20).send(None)


async def waits():
    await asyncio.gather(asyncio.sleep(0), one())


async def one():
    await asyncio.sleep(0.001)
    stand()


def loop():
    asyncio.new_event_loop().run_until_complete(waits())


class Key:
    def __init__(self, stop):
        self.stop = stop
        if stop:
            stand()

    def __lt__(self, other):
        stand()

    def __getattr__(self, name):
        return [f() for f in (stand,)]

    @property
    def value(self):
        return self.missing

    def __call__(self, *args, **kwargs):
        return sorted([Key(False), Key(False)])


def construct(n):
    for i in range(n):
        Key(i == n - 1)


def attributes():
    return Key(False).value


def called():
    return functools.partial(Key(False), 1)(2, three=3)


def mapped():
    return list(map(lambda x: {k: v for k, v in [(x, stand())]}, [1, 2]))


@contextlib.contextmanager
def managed():
    try:
        yield
    finally:
        stand()


def context():
    with managed():
        try:
            raise KeyError
        except KeyError:
            for i in range(3):
                pass


def traced():
    def tracer(frame, event, arg):
        return tracer
    sys.settrace(tracer)
    x = 1
    recursion(3)


def größe():
    stand()


class 漢字:
    def 函数(self):
        größe()


def far():
    source = "def begin():\n" + "\n" * 700 + "    x = [\n" + "        1,\n" * 300 + "    ]\n" \
        + "".join("    x[%d] = %d * x[0]\n" % (i % 300, i) for i in range(2000)) + "    end()\n" \
        + "\n" * 200 + "def end():\n    stand()\n"
    space = {"stand": stand}
    exec(compile(source, "/nowhere/f\udcff\U0001f600ü <x>\n.py", "exec"), space)
    space["begin"]()


def evaluated():
    return eval("(lambda: [stand() for _ in range(2)])()")


def randomly(seed):
    r = random.Random(seed)
    n = r.randrange(2, 12)
    source = ""
    for i in range(n):
        kind = r.randrange(6)
        pad = "\n" * r.choice([0, 0, 1, 5, 130, 260])
        fill = "".join("    a%d = depth + %d\n" % (j, j) for j in range(r.choice([0, 1, 3, 90])))
        call = "r%d(depth - 1)" % r.randrange(n)
        head = "def r%d(depth):\n%s    if depth <= 0: return stand()\n%s" % (i, fill, pad)
        source += pad + head + [
            "    return %s\n" % call,
            "    x = [\n        1,\n        %s,\n    ]\n" % call,
            "    for x in (lambda: (yield %s))():\n        pass\n" % call,
            "    try:\n        1 // 0\n    except ZeroDivisionError:\n        %s\n" % call,
            "    return max([1, 2], key=lambda x: %s)\n" % call,
            "    return {x:\n        %s for x in [1]}\n" % call,
        ][kind]
    space = {"stand": stand}
    exec(compile(source, "/random/%d.py" % seed, "exec"), space)
    space["r0"](r.randrange(1, 120))


def chains(f):
    result = []
    while f is not None:
        c = f.f_code
        result.append([getattr(c, "co_qualname", c.co_name), os.fsencode(c.co_filename).decode("latin1"), f.f_lineno])
        f = f.f_back
    return result


def started(f, *args):
    def run():
        here()
        f(*args)
    t = threading.Thread(target=run)
    t.daemon = True
    t.start()


def stands(tid):
    with open("/proc/self/task/%d/syscall" % tid) as f:
        return f.read().split()[:2] == ["0", hex(block_fd)]


def report(n):
    while len(ids) < n or not all(stands(tid) for tid in list(ids.values())):
        time.sleep(0.01)
    frames = sys._current_frames()
    truth = {str(tid): chains(frames[ident]) for ident, tid in ids.items()}
    del frames
    print(json.dumps(truth))
    sys.stdout.flush()
    stand()


def main():
    threading.stack_size(1 << 20)
    sys.setrecursionlimit(5000)
    count, seed = int(sys.argv[1]), int(sys.argv[2])
    kinds = [
        (stand,), (recursion, 0), (recursion, 400), (nested_generators,), (coroutines,), (loop,), (construct, 1), (construct, 200),
        (attributes,), (called,), (mapped,), (context,), (traced,), (漢字().函数,), (far,), (evaluated,),
    ] + [(randomly, seed + i) for i in range(count)]
    for kind in kinds:
        started(*kind)
    here()
    threading.Thread(target=report, args=(len(kinds) + 1,), daemon=True).start()
    recursion(5)


main()
