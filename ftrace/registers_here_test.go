package ftrace

import (
	"runtime"
	"strings"
)

// here gives arguments that name amd64's registers those of this machine.
func here(text string) string {
	if runtime.GOARCH != "arm64" {
		return text
	}
	return strings.NewReplacer("%di", "%x0", "%si", "%x1", "%dx", "%x2", "%cx", "%x3", "%ax", "%x4", "%bx", "%x5",
		"%r10", "%x10", "%bp", "%x29", "%ip", "%pc").Replace(text)
}
