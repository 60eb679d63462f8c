<?php
function burn($n) {
    $x = 0;
    for ($i = 0; $i < $n; $i++) {
        $x += $i * $i % 7;
    }
    return $x;
}

function one($n) {
    return burn($n);
}

function two($n) {
    return burn(2 * $n);
}

function three($n) {
    return burn(3 * $n);
}

function down($depth, $n) {
    if ($depth > 0) {
        return down($depth - 1, $n);
    }
    one($n);
    two($n);
    three($n);
}

for ($i = 0; $i < $argv[1]; $i++) {
    down(10, 1000);
}
