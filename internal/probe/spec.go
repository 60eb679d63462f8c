package probe

import (
	"errors"
	"io/fs"
	"os"
	"path/filepath"
	"strings"

	"github.com/ringtap/ringtap/ftrace"
	"github.com/ringtap/ringtap/internal/probe/library"
	"github.com/ringtap/ringtap/kprobe"
	"github.com/ringtap/ringtap/uprobe"
)

// Place is the kind of code that a spec refers to.
type Place uint8

// The places.
const (
	User Place = iota
	Kernel
	Tracepoint
)

// Spec names code to attach to, as written by a user.
type Spec struct {
	Text  string
	Place Place
	Kind  byte // 'p', 'r', 'u' for a USDT probe, 't' for a tracepoint
	// Probe is the definition after kind and colon, in the grammar of package uprobe or kprobe.
	// For a tracepoint it is a name or pattern.
	Probe string
	// Arguments is the number of fetched arguments; "$args" counts as 2.
	Arguments int
	// Whole is true if the spec means functions, not places in them.
	Whole bool

	definition string // with its kind, in the grammar of package uprobe or kprobe
}

// Parse parses a spec: [KIND:]DEFINITION. KIND is p, r or u as in packages uprobe and kprobe,
// or t before a tracepoint's name; the default is p. A spec is a user probe if its target is a
// program or library in the view: see placeOf.
//
// The error is a *ftrace.SyntaxError. It may be one from kprobe.Resolve if a word's meaning
// depends on the kernel's functions.
func Parse(text string, view View) (*Spec, error) {
	s := &Spec{Text: text}
	s.Kind, s.Probe = CutKind(text)
	switch s.Kind {
	case 't':
		s.Place = Tracepoint
		return s, nil
	case 0:
		s.Place, s.Probe = placeOf(s.Probe, view.first())
		s.Kind = 'p'
	case 'p', 'r':
		s.Place, s.Probe = placeOf(s.Probe, view.first())
	}
	s.definition = string(s.Kind) + ":" + s.Probe
	if s.Place == Kernel {
		return s, s.kernel()
	}
	return s, s.user()
}

// ParseUser parses a definition of package uprobe.
func ParseUser(text string) (*Spec, error) {
	s := &Spec{Text: text, definition: text}
	return s, s.user()
}

// ParseKernel parses a definition of package kprobe.
func ParseKernel(text string) (*Spec, error) {
	s := &Spec{Text: text, Place: Kernel, definition: text}
	_, err := kprobe.Parse(text)
	return s, err
}

func (s *Spec) user() error {
	d, err := uprobe.Parse(s.definition)
	if err != nil {
		return err
	}
	s.Whole = d.Offset == 0 && d.Place == uprobe.PlaceFunction
	s.Arguments = arguments(len(d.Args), d.Fetch)
	return nil
}

func (s *Spec) kernel() error {
	d, err := kprobe.Parse(s.definition)
	if err != nil {
		return err
	}
	if d.Alias != "" { // in "vfs_read count" the meaning of count depends on the kernel's functions
		plan, err := kprobe.Resolve(d, kprobe.Options{})
		if err != nil {
			return err
		}
		d = plan.Definition
	}
	s.Whole = d.Offset == 0 && d.Symbol != ""
	s.Arguments = arguments(len(d.Args), d.Fetch)
	return nil
}

// arguments counts fetch arguments; $args stands for several.
func arguments(n int, fetch string) int {
	if n == 1 && strings.HasPrefix(strings.TrimSpace(fetch), "$args") {
		return 2
	}
	return n
}

// CutKind cuts the kind off a spec. kind is 0 if there is none.
func CutKind(text string) (kind byte, probe string) {
	text = strings.TrimSpace(text)
	if kind, rest, ok := strings.Cut(text, ":"); ok && len(kind) == 1 && strings.Contains("prut", kind) {
		return kind[0], strings.TrimSpace(rest)
	}
	return 0, text
}

// placeOf returns whether a probe is in user code or in the kernel, and the probe in the
// grammar of package uprobe or kprobe, without its kind. A user probe has a target before a
// colon. The kernel's MODULE:FUNCTION looks the same: it is taken if the module is loaded and
// process pid sees no program or library with that name. A colon with nothing before it is
// stack_analyzer's syntax for the kernel.
func placeOf(probe string, pid int) (Place, string) {
	if rest, ok := strings.CutPrefix(probe, ":"); ok {
		return Kernel, rest
	}
	words := strings.Fields(probe)
	if len(words) == 0 {
		return Kernel, probe
	}
	named := words[0]
	if !strings.Contains(named, ":") {
		// An argument, or the place after an alias.
		if len(words) == 1 || strings.ContainsAny(words[1], "=%$@+->(\\") || !strings.Contains(words[1], ":") {
			return Kernel, probe
		}
		named = words[1]
	}
	module, _, _ := strings.Cut(named, ":")
	if strings.ContainsAny(module, "/.\"") {
		return User, probe
	}
	if _, err := os.Stat(filepath.Join("/sys/module", strings.ReplaceAll(module, "-", "_"))); errors.Is(err, fs.ErrNotExist) {
		return User, probe
	}
	if target, err := library.Find(module, library.Options{PID: pid}); err == nil {
		_ = target.File.Close()
		return User, probe
	}
	return Kernel, probe
}

// IsTracepoint reports whether the running kernel has a tracepoint SYSTEM:EVENT.
func IsTracepoint(name string) bool {
	system, event, ok := strings.Cut(name, ":")
	if !ok || strings.ContainsAny(system+event, "/:*?[") {
		return false
	}
	tracefs, err := ftrace.Find()
	if err != nil {
		return false
	}
	_, err = tracefs.EventID(system, event)
	return err == nil
}
