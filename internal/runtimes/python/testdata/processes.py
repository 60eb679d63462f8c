# A process that has forked, or that runs a subinterpreter, and stands still. It prints
# the chain of its main thread as chains.py does. Argument: fork, sub.
import json, os, sys


def stand():
    print(json.dumps({os.getpid(): chain(sys._getframe())}))
    sys.stdout.flush()
    os.read(block_fd, 1)


def chain(f):
    c, line = f.f_code, f.f_lineno + 2
    result = []
    while f is not None:
        c = f.f_code
        result.append([getattr(c, "co_qualname", c.co_name), c.co_filename, line if not result else f.f_lineno])
        f = f.f_back
    return result


def fork():
    pid = os.fork()
    if pid == 0:
        deeper(3)
    os.waitpid(pid, 0)


def deeper(n):
    return deeper(n - 1) if n else stand()


block_fd, _ = os.pipe()
if sys.argv[1] == "fork":
    fork()
else:
    try:
        import _interpreters as interpreters
        create = lambda: interpreters.create("legacy")
        run = interpreters.exec
    except ImportError:
        import _xxsubinterpreters as interpreters
        create = interpreters.create
        run = interpreters.run_string

    def outer():
        run(create(), """if True:
            import os, json
            def inner(): os.read(%d, 1)
            file = inner.__code__.co_filename
            print(json.dumps({os.getpid(): [["inner", file, 3], ["<module>", file, 6]] + %s}), flush=True)
            inner()
        """ % (block_fd, json.dumps([["outer", __file__, 0], ["<module>", __file__, 0]])))

    outer()
