package trace

import (
	"bytes"
	"log/slog"
	"strings"
	"testing"

	"github.com/ringtap/ringtap/ftrace"
)

func TestWhatTheKernelDoesNotTellIsLoggedOnce(t *testing.T) {
	var log bytes.Buffer
	printing := Printing(ftrace.At(t.TempDir()), slog.New(slog.NewTextHandler(&log, nil)))
	for range 3 {
		if text, ok := printing.KernelString(0x1000); ok {
			t.Errorf("there is a text %q", text)
		}
		if value, ok := printing.Constant("no such constant"); ok {
			t.Errorf("there is a constant %d", value)
		}
		if name, _, _, _, ok := printing.KernelSymbol(1); ok {
			t.Errorf("there is a symbol %q", name)
		}
	}
	if n := strings.Count(log.String(), "no kernel texts"); n != 1 {
		t.Errorf("logged %d times:\n%s", n, log.String())
	}
}
