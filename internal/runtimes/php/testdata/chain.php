<?php
// A chain of calls of every kind that ends in a read. It prints the chain as one line of
// JSON before it reads: [[function, file, line], …], leaf first. Argument: the seed.
namespace App;

class Model {
    public static function make(int $n) { return (new self)->run($n); }
    function run(int $n) { return array_map(fn($x) => $this->deep($n), [1]); }
    function deep(int $n) {
        if ($n > 0) {
            return $this->deep(
                $n - 1
            );
        }
        $a = [3, 1, 2];
        usort($a, function ($x, $y) {
            return $this->__call("magic", [$x, $y]);
        });
    }
    function __call($name, $args) { return $name == "magic" ? $this->other() : generated(); }
}

function random(int $depth, int $seed) {
    if ($depth == 0) return stand();
    switch (($seed * 7 + $depth * 13) % 5) {
    case 0: return random($depth - 1, $seed);
    case 1: return call_user_func(__NAMESPACE__ . '\random', $depth - 1, $seed);
    case 2:
        foreach ([1, 2] as $x) {
            try {
                return random($depth - 1, $seed);
            } finally {
            }
        }
    case 3: return (new class { function __invoke($d, $s) { return random($d, $s); } })($depth - 1, $seed);
    default:
        return eval('
            return \App\random($depth - 1, $seed);
        ');
    }
}

function generated() {
    foreach (gen() as $x) {
        return $x;
    }
}

function gen() {
    yield (function () {
        global $argv;
        return random(40, (int)$argv[1]);
    })();
}

// PHP 7.4 has json_encode in a package of its own.
function quoted($text) {
    return '"' . preg_replace_callback('/[^ !#-\\[\\]-~]/', fn($c) => sprintf('\\u%04x', ord($c[0])), $text) . '"';
}

function stand() {
    $trace = debug_backtrace();
    $chain = [["fgets", "", 0]];
    $at = ["file" => __FILE__, "line" => __LINE__ + 9];
    foreach ($trace as $t) {
        $name = ($t["class"] ?? "") . (isset($t["class"]) ? "::" : "") . $t["function"];
        $chain[] = [$name, $at["file"] ?? "", $at["line"] ?? 0];
        $at = $t;
    }
    $chain[] = ["{main}", $at["file"], $at["line"]];
    $quoted = fn($f) => "[" . quoted($f[0]) . "," . quoted($f[1]) . "," . $f[2] . "]";
    echo "[", implode(",", array_map($quoted, $chain)), "]\n";
    return fgets(STDIN);
}

Model::make(20);
