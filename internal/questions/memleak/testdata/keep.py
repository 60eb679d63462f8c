import sys

kept = []


def burn(n):
    x = 0
    for i in range(n):
        x += i * i % 7
    return x


def one():
    kept.append(bytearray(100000))


def two():
    kept.append(bytearray(100000))
    kept.append(bytearray(100000))


def three():
    kept.append(bytearray(100000))
    kept.append(bytearray(100000))
    kept.append(bytearray(100000))


def passing():
    bytearray(100000)


def down(depth, n):
    if depth > 0:
        down(depth - 1, n)
        return
    one()
    burn(n)
    two()
    burn(n)
    passing()
    three()
    burn(n)


print("ready", flush=True)
sys.stdin.readline()
for _ in range(int(sys.argv[1])):
    down(10, int(sys.argv[2]))
print("done", flush=True)
sys.stdin.readline()
