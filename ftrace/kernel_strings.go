package ftrace

import (
	"bufio"
	"bytes"
	"fmt"
	"os"
	"path/filepath"
	"strconv"
	"strings"

	"github.com/ringtap/ringtap/internal/text/cexpr"
)

// KernelStrings reads the file printk_formats: texts that some events record only by address.
// Use it for printfmt.Options.KernelString.
func (t *FS) KernelStrings() (map[uint64]string, error) {
	text, err := os.ReadFile(filepath.Join(t.dir, "printk_formats"))
	if err != nil {
		return nil, fmt.Errorf("read the texts of the kernel's events: %w", err)
	}
	return ParseKernelStrings(text), nil
}

// ParseKernelStrings parses the text of the file printk_formats, with the texts by address. Its
// lines are such as
//
//	0xffffffff8281942f : "thaw_processes"
//
// Other lines are skipped.
func ParseKernelStrings(text []byte) map[uint64]string {
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
