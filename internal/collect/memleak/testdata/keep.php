<?php
$kept = [];

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

function down($depth, $rest) {
    if ($depth > 0) {
        down($depth - 1, $rest);
        return;
    }
    one();
    usleep((int) ($rest * 1e6));
    two();
    usleep((int) ($rest * 1e6));
    passing();
    three();
    usleep((int) ($rest * 1e6));
}

echo "ready\n";
fgets(STDIN);
for ($i = 0; $i < $argv[1]; $i++) {
    down(10, $argv[2]);
}
echo "done\n";
fgets(STDIN);
