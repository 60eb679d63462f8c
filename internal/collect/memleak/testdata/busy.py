import sys

kept = []
kept_lists = []


def often():
    kept.append(bytes(700))


def seldom():
    kept.append(bytes(700))


def large():
    kept.append(bytes(1 << 20))


def small():
    for _ in range(10):
        kept_lists.append([None])


def passing():
    bytes(700)


def run(rounds):
    for i in range(rounds):
        often()
        often()
        seldom()
        small()
        for _ in range(4):
            passing()
        if i % 1000 == 0:
            large()


print("ready", flush=True)
sys.stdin.readline()
run(int(sys.argv[1]))
print("done", flush=True)
sys.stdin.readline()
