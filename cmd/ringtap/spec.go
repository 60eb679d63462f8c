package main

import (
	"errors"
	"io/fs"
	"os"
	"path/filepath"
	"strings"

	"github.com/ringtap/ringtap/internal/library"
)

// place is where a probe is.
type place uint8

const (
	inUser place = iota
	inKernel
	atTracepoint
)

// cutKind cuts the kind off a specification of a probe, as uprobe, kprobe and
// stack_analyzer have it: p, r, u, or t of a tracepoint; "" if there is none.
func cutKind(spec string) (kind, probe string) {
	spec = strings.TrimSpace(spec)
	if kind, rest, ok := strings.Cut(spec, ":"); ok && len(kind) == 1 && strings.Contains("prut", kind) {
		return kind, strings.TrimSpace(rest)
	}
	return "", spec
}

// placeOf tells whether a probe is in user code or in the kernel's, and returns it
// as package uprobe or kprobe takes it behind its kind. A user probe has a target
// before a colon, and MODULE:FUNCTION of the kernel is one where no such program
// or library is found, as the process pid sees them. A colon with nothing before
// it is stack_analyzer's for the kernel.
func placeOf(kind, probe string, pid int) (place, string) {
	if kind == "u" {
		return inUser, probe
	}
	if rest, ok := strings.CutPrefix(probe, ":"); ok {
		return inKernel, rest
	}
	words := strings.Fields(probe)
	if len(words) == 0 {
		return inKernel, probe
	}
	named := words[0]
	if !strings.Contains(named, ":") {
		// An argument, or the place behind an alias.
		if len(words) == 1 || strings.ContainsAny(words[1], "=%$@+->(\\") || !strings.Contains(words[1], ":") {
			return inKernel, probe
		}
		named = words[1]
	}
	module, _, _ := strings.Cut(named, ":")
	if strings.ContainsAny(module, "/.\"") {
		return inUser, probe
	}
	if _, err := os.Stat(filepath.Join("/sys/module", strings.ReplaceAll(module, "-", "_"))); errors.Is(err, fs.ErrNotExist) {
		return inUser, probe
	}
	if target, err := library.Find(module, library.Options{PID: pid}); err == nil {
		_ = target.File.Close()
		return inUser, probe
	}
	return inKernel, probe
}
