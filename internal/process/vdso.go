package process

import (
	"errors"
	"fmt"
	"os"
)

// maxVDSO bounds the image; today's are two or three pages.
const maxVDSO = 1 << 20

// readVDSO reads the ELF image that the kernel maps into each 64-bit process
// (vdso(7)) from our own memory, where it is the same.
func readVDSO() ([]byte, error) {
	maps := newProcfs("/proc")
	var at area
	err := maps.lines("/proc/self/maps", func(line []byte) bool {
		a, ok := parseArea(line)
		if ok && string(a.path) == "[vdso]" {
			at = a
		}
		return at.end == 0
	})
	if err != nil {
		return nil, fmt.Errorf("find vdso: %w", err)
	}
	if at.end == 0 || at.end-at.start > maxVDSO {
		return nil, errors.New("find vdso: this process has none")
	}
	memory, err := os.Open("/proc/self/mem")
	if err != nil {
		return nil, fmt.Errorf("read vdso: %w", err)
	}
	defer memory.Close()
	image := make([]byte, at.end-at.start)
	if _, err := memory.ReadAt(image, int64(at.start)); err != nil {
		return nil, fmt.Errorf("read vdso: %w", err)
	}
	return image, nil
}
