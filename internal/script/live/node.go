package live

import (
	"fmt"
	"path/filepath"
	"strconv"
	"strings"

	"github.com/ringtap/ringtap/internal/script/value"
)

// ofNode returns what takes the number of the memory node that a hit's CPU belongs to. The nodes are
// below root, which is the host's.
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

// nodeOf returns the node of a CPU, as sysfs links to it; 0 on a kernel without nodes.
func nodeOf(root string, cpu uint32) uint64 {
	links, _ := filepath.Glob(filepath.Join(root, fmt.Sprintf("sys/devices/system/cpu/cpu%d/node[0-9]*", cpu))) // the pattern is right
	for _, link := range links {
		if n, err := strconv.ParseUint(strings.TrimPrefix(filepath.Base(link), "node"), 10, 32); err == nil {
			return n
		}
	}
	return 0
}
