package ftrace

import (
	"bufio"
	"bytes"
	"fmt"
	"os"
	"path/filepath"
	"strconv"
	"strings"

	"github.com/ringtap/ringtap/internal/cexpr"
)

// KernelStrings reads the texts whose addresses events may hold in place of the
// text itself: the file printk_formats. They serve PrintOptions.KernelString.
func (t *FS) KernelStrings() (map[uint64]string, error) {
	text, err := os.ReadFile(filepath.Join(t.dir, "printk_formats"))
	if err != nil {
		return nil, fmt.Errorf("read the texts of the kernel's events: %w", err)
	}
	return parseKernelStrings(text), nil
}

// parseKernelStrings reads lines such as
//
//	0xffffffff8281942f : "thaw_processes"
//
// and passes over what isn't one.
func parseKernelStrings(text []byte) map[uint64]string {
	found := make(map[uint64]string)
	lines := bufio.NewScanner(bytes.NewReader(text))
	for lines.Scan() {
		address, quoted, ok := strings.Cut(lines.Text(), " : ")
		addr, err := strconv.ParseUint(strings.TrimPrefix(address, "0x"), 16, 64)
		if !ok || err != nil || len(quoted) < 2 || quoted[0] != '"' || quoted[len(quoted)-1] != '"' {
			continue
		}
		found[addr] = cexpr.Unescape(quoted[1 : len(quoted)-1])
	}
	return found
}
