package ftrace

import (
	"bufio"
	"fmt"
	"os"
	"path/filepath"
	"strings"
)

// TraceHeader returns the lines that start with '#' in the trace file, which
// name the columns of AppendLine's lines, each with its newline. One of them
// counts what is in the kernel's own buffer, which is not where perf's records
// are.
func (t *FS) TraceHeader() (string, error) {
	file, err := os.Open(filepath.Join(t.dir, "trace"))
	if err != nil {
		return "", fmt.Errorf("read the header of the trace: %w", err)
	}
	defer file.Close()
	var header strings.Builder
	lines := bufio.NewScanner(file)
	for lines.Scan() && strings.HasPrefix(lines.Text(), "#") {
		header.WriteString(lines.Text() + "\n")
	}
	if err := lines.Err(); err != nil {
		return "", fmt.Errorf("read the header of the trace: %w", err)
	}
	return header.String(), nil
}
