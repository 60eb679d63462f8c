package kprobe

import (
	"bytes"
	"os"
	"path"
	"strings"
)

// isBuiltin tells whether a module is part of the kernel itself, which the list
// of its build says where it is installed (modules.builtin(5)).
func (k kernel) isBuiltin(module string) bool {
	release, err := os.ReadFile(k.path("proc/sys/kernel/osrelease"))
	if err != nil {
		return false
	}
	list, err := os.ReadFile(k.path("lib/modules/" + path.Base(strings.TrimSpace(string(release))) + "/modules.builtin"))
	if err != nil {
		return false
	}
	for line := range bytes.Lines(list) {
		name := path.Base(string(bytes.TrimSpace(line)))
		if moduleName(strings.TrimSuffix(name, ".ko")) == module {
			return true
		}
	}
	return false
}
