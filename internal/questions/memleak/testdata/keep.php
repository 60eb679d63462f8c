<?php
$kept = [];

function burn($n) {
    $x = 0;
    for ($i = 0; $i < $n; $i++) {
        $x += $i * $i % 7;
    }
    return $x;
}

function one() {
    global $kept;
    $kept[] = str_repeat("x", 100000);
}

function two() {
    global $kept;
    $kept[] = str_repeat("x", 100000);
    $kept[] = str_repeat("x", 100000);
}

function three() {
    global $kept;
    $kept[] = str_repeat("x", 100000);
    $kept[] = str_repeat("x", 100000);
    $kept[] = str_repeat("x", 100000);
}

function passing() {
    $x = str_repeat("x", 100000);
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
    passing();
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
