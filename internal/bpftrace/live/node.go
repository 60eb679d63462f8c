package live

import (
	"fmt"
	"path/filepath"
	"strconv"
	"strings"

	"github.com/ringtap/ringtap/internal/bpftrace/value"
)

// ofNode returns a getter of the number of the NUMA node that a hit's CPU belongs to. root is the host's
// root directory.
func ofNode(root string) getter {
	nodes := map[uint32]uint64{}
	return func(h *hit) value.Value {
		node, known := nodes[h.sample.CPU]
		if !known {
			node = nodeOf(root, h.sample.CPU)
			nodes[h.sample.CPU] = node
		}
		return value.Int(node)
	}
}

// nodeOf returns the NUMA node of a CPU from sysfs, or 0 on a kernel without nodes.
func nodeOf(root string, cpu uint32) uint64 {
	links, _ := filepath.Glob(filepath.Join(root, fmt.Sprintf("sys/devices/system/cpu/cpu%d/node[0-9]*", cpu))) // the pattern is right
	for _, link := range links {
		if n, err := strconv.ParseUint(strings.TrimPrefix(filepath.Base(link), "node"), 10, 32); err == nil {
			return n
		}
	}
	return 0
}
