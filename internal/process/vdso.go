package process

import (
	"errors"
	"fmt"
	"os"

	"github.com/ringtap/ringtap/internal/host/proc"
)

// maxVDSO bounds the image in bytes; today's have two or three pages.
const maxVDSO = 1 << 20

// readVDSO reads the ELF image that the kernel maps into each 64-bit process (vdso(7)) from our
// own memory, where it is the same.
func readVDSO() ([]byte, error) {
	return Host{}.readVDSO(os.Getpid(), proc.Live.Self("maps"))
}

// readCompatVDSO reads the image of 32-bit processes from the memory of such a process.
func (h Host) readCompatVDSO(pid int) ([]byte, error) {
	return h.readVDSO(pid, h.Path(pid, "maps"))
}

func (h Host) readVDSO(pid int, maps string) ([]byte, error) {
	var at Area
	err := h.areas(maps, func(a *Area) bool {
		if string(a.Path) == "[vdso]" {
			at = *a
		}
		return at.End == 0
	})
	if err != nil {
		return nil, fmt.Errorf("find vdso: %w", err)
	}
	if at.End == 0 || at.End-at.Start > maxVDSO {
		return nil, errors.New("find vdso: the process has none")
	}
	image := make([]byte, at.End-at.Start)
	if h.ReadMemory(pid, at.Start, image) < len(image) {
		return nil, errors.New("read vdso: it is not all there")
	}
	return image, nil
}
