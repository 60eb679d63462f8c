<?php
function rest($ms) {
    if ($ms > 0) {
        usleep(1000 * $ms);
    }
}

function one() {
    getrusage();
}

function two() {
    getrusage();
    getrusage();
}

function three() {
    getrusage();
    getrusage();
    getrusage();
}

function down($depth, $ms) {
    if ($depth > 0) {
        down($depth - 1, $ms);
        return;
    }
    one();
    rest($ms);
    two();
    rest($ms);
    three();
    rest($ms);
}

echo "ready\n";
fgets(STDIN);
for ($i = 0; $i < $argv[1]; $i++) {
    down(10, $argv[2]);
}
echo "done\n";
fgets(STDIN);
