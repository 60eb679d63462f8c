package facility

import (
	"fmt"
	"os"
	"strings"
)

// release is the running kernel's version (uname -r).
func (h *host) release() string {
	text, err := os.ReadFile(h.path("proc/sys/kernel/osrelease"))
	if err != nil {
		return "unknown"
	}
	return strings.TrimSpace(string(text))
}

// since looks whether the kernel is of that version or later. It is asked where
// only the version tells: what was there all along and works since then.
func (h *host) since(major, minor int) error {
	var haveMajor, haveMinor int
	_, err := fmt.Sscanf(h.release(), "%d.%d", &haveMajor, &haveMinor)
	if err == nil && (haveMajor > major || haveMajor == major && haveMinor >= minor) {
		return nil
	}
	return fmt.Errorf("since Linux %d.%d", major, minor)
}
