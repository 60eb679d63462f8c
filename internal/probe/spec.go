package probe

import (
	"errors"
	"io/fs"
	"os"
	"path/filepath"
	"strings"

	"github.com/ringtap/ringtap/ftrace"
	"github.com/ringtap/ringtap/internal/library"
	"github.com/ringtap/ringtap/kprobe"
	"github.com/ringtap/ringtap/uprobe"
)

// Place is the kind of code that a spec is about.
type Place uint8

// The places.
const (
	User Place = iota
	Kernel
	Tracepoint
)

// Spec is what is to be attached, as a user wrote it.
type Spec struct {
	Text  string
	Place Place
	Kind  byte // 'p', 'r', 'u' of a USDT probe, 't' of a tracepoint
	// Probe is the definition behind kind and colon, in the grammar of package
	// uprobe or kprobe. Of a tracepoint it is its name or pattern.
	Probe string
	// Arguments is how many arguments are fetched; 2 stands for "$args" as well.
	Arguments int
	// Whole says that the spec means functions, and not places within them.
	Whole bool

	definition string // with its kind, in the grammar of package uprobe or kprobe
}

// Parse reads a spec: [KIND:]DEFINITION, KIND being p, r or u as package uprobe and
// kprobe have it, or t before the name of a tracepoint. No kind is p. A user probe is
// one whose target is a program or library as the view sees it; see placeOf.
//
// The error is a *ftrace.SyntaxError, or one of kprobe.Resolve where only the
// kernel's functions tell what a word means.
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

// ParseUser reads a definition of package uprobe.
func ParseUser(text string) (*Spec, error) {
	s := &Spec{Text: text, definition: text}
	return s, s.user()
}

// ParseKernel reads a definition of package kprobe.
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
	if d.Alias != "" { // of "vfs_read count" only the kernel's functions tell what count is
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

// arguments counts arguments, of which one may stand for all.
func arguments(n int, fetch string) int {
	if n == 1 && strings.HasPrefix(strings.TrimSpace(fetch), "$args") {
		return 2
	}
	return n
}

// CutKind cuts the kind off a spec; it is 0 if there is none.
func CutKind(text string) (kind byte, probe string) {
	text = strings.TrimSpace(text)
	if kind, rest, ok := strings.Cut(text, ":"); ok && len(kind) == 1 && strings.Contains("prut", kind) {
		return kind[0], strings.TrimSpace(rest)
	}
	return 0, text
}

// placeOf tells whether a probe is in user code or in the kernel's, and returns it
// as package uprobe or kprobe takes it behind its kind. A user probe has a target
// before a colon, and MODULE:FUNCTION of the kernel is one where no such program
// or library is found, as the process pid sees them. A colon with nothing before
// it is stack_analyzer's for the kernel.
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
		// An argument, or the place behind an alias.
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

// IsTracepoint tells whether the running kernel has a tracepoint SYSTEM:EVENT.
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
