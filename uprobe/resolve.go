package uprobe

import (
	"errors"
	"log/slog"

	"github.com/ringtap/ringtap/symbols"
)

// Options say from where a target is seen and how sites are chosen.
type Options struct {
	PID      int  // see the target as this process does: its root, its mapped libraries; 0: as we do
	Exact    bool // probe the very instruction that was named
	MaxSites int  // that a definition may stand for; 0 is 1000
	Logger   *slog.Logger
}

// Resolve finds the instructions that a definition means. It only reads files
// and needs no privileges beyond reading those. The caller closes the plan.
func Resolve(d *Definition, o Options) (*Plan, error) { return nil, errors.ErrUnsupported }

// Functions lists the functions of a target, and the path at which it was found.
func Functions(target string, o Options) (functions []symbols.Function, path string, err error) {
	return nil, "", errors.ErrUnsupported
}
