package process

import (
	"bytes"
	"strings"
)

// controllers are the version 1 hierarchies that best show where a process belongs, best first.
var controllers = [...]string{"perf_event", "cpu", "cpuacct", "memory", "pids", "name=systemd"}

// parseCgroup returns the path to show from the text of /proc/PID/cgroup (cgroups(7)), which
// has lines of "id:controllers:path". It is the version 2 path, unless that hierarchy is
// mounted next to version 1 and unused, so that every process is in its root. Then it is the
// path in the first of the controllers where the process has its own cgroup.
func parseCgroup(text []byte) string {
	path, rank := "", len(controllers)+1
	for len(text) > 0 {
		var line []byte
		line, text, _ = bytes.Cut(text, newline)
		_, rest, ok := bytes.Cut(line, []byte{':'})
		if !ok {
			continue
		}
		names, at, ok := bytes.Cut(rest, []byte{':'})
		if !ok || len(at) == 0 || at[0] != '/' {
			continue
		}
		if path == "" {
			path = "/"
		}
		if r := cgroupRank(string(names)); r < rank && len(at) > 1 {
			at, _ = cutDeleted(at)
			path, rank = string(at), r
		}
	}
	return path
}

// cgroupRank returns 0 for version 2's empty list. For version 1 it returns the index in
// controllers plus 1.
func cgroupRank(names string) int {
	if names == "" {
		return 0
	}
	rank := len(controllers) + 1
	for name := range strings.SplitSeq(names, ",") {
		for i, c := range controllers {
			if name == c {
				rank = min(rank, i+1)
			}
		}
	}
	return rank
}
