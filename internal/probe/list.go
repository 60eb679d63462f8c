package probe

import (
	"errors"
	"fmt"
	"log/slog"
	"math"
	"slices"

	"github.com/ringtap/ringtap/ftrace"
	"github.com/ringtap/ringtap/internal/text/escape"
	"github.com/ringtap/ringtap/internal/text/match"
	"github.com/ringtap/ringtap/perfevent"
	"github.com/ringtap/ringtap/symbols"
	"github.com/ringtap/ringtap/uprobe"
)

// KernelFunctions returns the names of the kernel's functions that match a pattern and can be
// probed. The error says why there are none, or why none can be probed. notes are like
// Set.Notes.
func KernelFunctions(pattern string) (found, notes []string, err error) {
	set, err := open(Options{Limit: math.MaxInt, Target: perfevent.System(), PMU: true}, func(s *Set) error {
		plan, err := s.resolveKernel("p:" + pattern)
		if err != nil {
			return err
		}
		for i := range plan.Sites {
			found = append(found, plan.Sites[i].Function.String())
		}
		one := *plan
		one.Sites = plan.Sites[:1]
		_, err = s.attachKernel(&one, false)
		return err
	})
	return found, set.Notes, errors.Join(err, set.Close())
}

// UserFunctions returns the functions of a target that match pattern (see match.Search), and
// then definitions of its USDT probes with their arguments' types. The target is as process pid
// sees it; 0 is this process. With demangle, functions have their source names.
func UserFunctions(target, pattern string, demangle bool, pid int, logger *slog.Logger) (found, notes []string, err error) {
	wanted, err := match.Search(pattern)
	if err != nil {
		return nil, nil, err
	}
	options := uprobe.Options{PID: pid, Logger: logger}
	functions, path, err := uprobe.Functions(target, options)
	if err != nil {
		return nil, nil, err
	}
	for _, f := range functions {
		name := f.Name
		if demangle {
			name = symbols.DemangleParams(name)
		}
		if (f.Kind == symbols.Defined || f.Kind == symbols.Indirect) && wanted(name) {
			found = append(found, name)
		}
	}
	slices.Sort(found)
	marks, err := uprobe.Marks(target, options)
	if err != nil {
		notes = []string{err.Error()}
	}
	for _, m := range marks {
		if wanted(m.Provider + ":" + m.Name) {
			found = append(found, "u:"+target+":"+m.String())
		}
	}
	switch {
	case len(found) > 0:
		return slices.Compact(found), notes, nil
	case pattern != "":
		return nil, notes, fmt.Errorf("no function and no USDT probe of %s matches %q", escape.Text(path), pattern)
	}
	return nil, notes, fmt.Errorf("%s has no symbols (it is stripped): only addresses of it can be probed, p:%s:0xOFFSET", escape.Text(path), target)
}

// Tracepoints returns the tracepoints that match pattern: see match.Search.
func Tracepoints(pattern string) (found []string, err error) {
	wanted, err := match.Search(pattern)
	if err != nil {
		return nil, err
	}
	tracefs, _, err := ftrace.Mount()
	if err != nil {
		return nil, err
	}
	events, err := tracefs.Events()
	if err != nil {
		return nil, err
	}
	for _, event := range events {
		if name := event.String(); wanted(name) {
			found = append(found, name)
		}
	}
	return found, nil
}
