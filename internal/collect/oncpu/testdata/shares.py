import sys


def burn(n):
    x = 0
    for i in range(n):
        x += i * i % 7
    return x


def one(n):
    return burn(n)


def two(n):
    return burn(2 * n)


def three(n):
    return burn(3 * n)


def down(depth, n):
    if depth > 0:
        return down(depth - 1, n)
    one(n)
    two(n)
    three(n)


for _ in range(int(sys.argv[1])):
    down(10, 300)
