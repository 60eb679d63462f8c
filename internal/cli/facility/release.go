package facility

import (
	"fmt"

	"github.com/ringtap/ringtap/internal/host/proc"
)

func (h *host) proc() proc.FS { return proc.FS(h.path("proc")) }

// release returns the running kernel's version (uname -r), or "unknown".
func (h *host) release() string {
	text, err := h.proc().Sysctl("kernel/osrelease")
	if err != nil {
		return "unknown"
	}
	return text
}

// since returns nil if the kernel has this version or a later one. It is for facilities that
// older kernels show as well, but that work only since this version.
func (h *host) since(major, minor int) error {
	if r, err := h.proc().Release(); err == nil && r.Since(major, minor) {
		return nil
	}
	return fmt.Errorf("since Linux %d.%d", major, minor)
}
