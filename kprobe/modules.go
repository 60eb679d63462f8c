package kprobe

import (
	"bytes"
	"os"
	"path"
	"strings"
)

// isBuiltin reports whether a module is built into the kernel. It reads the build's list
// (modules.builtin(5)), which may not be installed.
func (k kernel) isBuiltin(module string) bool {
	release, err := k.proc().Sysctl("kernel/osrelease")
	if err != nil {
		return false
	}
	list, err := os.ReadFile(k.path("lib/modules/" + path.Base(release) + "/modules.builtin"))
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
