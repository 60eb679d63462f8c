package proc

import (
	"bytes"
	"strconv"
	"strings"
)

// Module is a loaded kernel module.
type Module struct {
	Name    string
	Address uint64 // of its code
	Size    uint64 // in bytes
}

// ParseModules parses the text of /proc/modules. It leaves out modules whose address the kernel hides, and
// malformed lines. A line has the name, the size, the number of references, the users, the state and the
// address:
//
//	ext4 1060864 1 - Live 0xffffffffc0512000
func ParseModules(text []byte) (modules []Module) {
	for line := range bytes.Lines(text) {
		f := strings.Fields(string(line))
		if len(f) < 6 {
			continue
		}
		size, err := strconv.ParseUint(f[1], 10, 64)
		if err != nil {
			continue
		}
		if address, err := strconv.ParseUint(f[5], 0, 64); err == nil && address != 0 {
			modules = append(modules, Module{f[0], address, size})
		}
	}
	return modules
}
