<?php
function burn($n) {
    $x = 0;
    for ($i = 0; $i < $n; $i++) {
        $x += $i * $i % 7;
    }
    return $x;
}

function one() {
    posix_getppid();
}

function two() {
    posix_getppid();
    posix_getppid();
}

function three() {
    posix_getppid();
    posix_getppid();
    posix_getppid();
}

function down($depth, $n) {
    if ($depth > 0) {
        down($depth - 1, $n);
        return;
    }
    one();
    burn($n);
    two();
    burn($n);
    three();
    burn($n);
}

echo "ready\n";
fgets(STDIN);
for ($i = 0; $i < $argv[1]; $i++) {
    down(10, $argv[2]);
}
echo "done\n";
fgets(STDIN);
