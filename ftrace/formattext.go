package ftrace

import (
	"fmt"
	"os"
	"path/filepath"
)

// FormatText returns the file "format" of the event system:event. The error
// wraps fs.ErrNotExist if the kernel has no such event.
func (t *FS) FormatText(system, event string) ([]byte, error) {
	if !isName(system) || !isName(event) {
		return nil, fmt.Errorf("event %q:%q: %w", system, event, os.ErrNotExist)
	}
	text, err := os.ReadFile(filepath.Join(t.dir, "events", system, event, "format"))
	if err != nil {
		return nil, fmt.Errorf("event %s:%s: %w", system, event, err)
	}
	return text, nil
}
