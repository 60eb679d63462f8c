package facility

import (
	"fmt"

	"github.com/ringtap/ringtap/internal/proc"
)

func (h *host) proc() proc.FS { return proc.FS(h.path("proc")) }

// release is the running kernel's version (uname -r).
func (h *host) release() string {
	text, err := h.proc().Sysctl("kernel/osrelease")
	if err != nil {
		return "unknown"
	}
	return text
}

// since looks whether the kernel is of that version or later. It is asked where
// only the version tells: what was there all along and works since then.
func (h *host) since(major, minor int) error {
	if r, err := h.proc().Release(); err == nil && r.Since(major, minor) {
		return nil
	}
	return fmt.Errorf("since Linux %d.%d", major, minor)
}
