package ftrace

import (
	"bufio"
	"fmt"
	"os"
	"path/filepath"
	"strings"
)

// TraceHeader returns the lines of the trace file that start with '#', each with its newline.
// They are the column headings for printfmt.AppendLine. One of them counts the records in the
// kernel's own buffer, which does not contain perf's records.
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
