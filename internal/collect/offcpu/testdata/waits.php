<?php
$pair = stream_socket_pair(STREAM_PF_UNIX, STREAM_SOCK_STREAM, 0);

function nap($depth, $us) {
    if ($depth > 0) {
        return nap($depth - 1, $us);
    }
    usleep($us);
}

function hold($depth, $us) {
    global $pair;
    if ($depth > 0) {
        return hold($depth - 1, $us);
    }
    $read = [$pair[0]];
    $write = $except = null;
    stream_select($read, $write, $except, 0, $us);
}

for ($i = 0; $i < $argv[1]; $i++) {
    nap(10, (int)$argv[2]);
    hold(10, (int)$argv[2]);
}
