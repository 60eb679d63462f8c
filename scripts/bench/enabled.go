package main

import (
	"bufio"
	"bytes"
	"context"
	"os"
	"path/filepath"
	"time"

	"github.com/ringtap/ringtap/ftrace"
)

// patched counts the functions of the kernel that call a tracer or a probe at
// their entry, of this name or, with "", of any: the kernel's own list, whichever
// tool set them.
func patched(function string) (n int, err error) {
	tracefs, _, err := ftrace.Mount()
	if err != nil {
		return 0, err
	}
	f, err := os.Open(filepath.Join(tracefs.Dir(), "enabled_functions"))
	if err != nil {
		return 0, err
	}
	defer f.Close()
	lines := bufio.NewScanner(f)
	for lines.Scan() {
		name, _, _ := bytes.Cut(lines.Bytes(), []byte(" "))
		if function == "" || string(name) == function {
			n++
		}
	}
	return n, lines.Err()
}

// awaitPatched waits until the function is traced, or is not.
func awaitPatched(ctx context.Context, function string, want bool) error {
	limit := time.Now().Add(2 * time.Minute)
	for time.Now().Before(limit) {
		if n, err := patched(function); err != nil || (n > 0) == want {
			return err
		}
		select {
		case <-ctx.Done():
			return ctx.Err()
		case <-time.After(200 * time.Millisecond):
		}
	}
	return errNoPatch
}
