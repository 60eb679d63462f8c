package annotate

import (
	"context"
	"errors"
	"log/slog"
	"time"

	"github.com/ringtap/ringtap/internal/engine"
	"github.com/ringtap/ringtap/internal/host/kcore"
	"github.com/ringtap/ringtap/internal/object/disasm"
	"github.com/ringtap/ringtap/internal/perfdata"
	"github.com/ringtap/ringtap/internal/stack/symbolize"
	"github.com/ringtap/ringtap/symbols"
)

// Options configures a run.
type Options struct {
	Source engine.Source // a recording
	// Events are the events of the source's samples, by sampling.
	Events []perfdata.Event
	// Function is the name of the function: NAME or OBJECT:NAME. If it is "", the hottest function
	// whose code can be read is chosen.
	Function string
	// Event is the name of the event to count. If it is "", the first one with samples in the
	// function is taken.
	Event  string
	Syntax disasm.Syntax
	// DebugFiles opens separate debug files; if nil, see symbolize.Options.
	DebugFiles func(path string) (symbols.ReaderAtCloser, int64, error)
	// KernelMemory opens the memory of the recorded kernel, if it still runs. It is called at most
	// once. If it is nil, functions of the kernel are not shown.
	KernelMemory func() (*kcore.Reader, error)
	// Symfs, unless "", is a directory with the recorded machine's files. Source files are looked for
	// there first.
	Symfs string
	// Made is when the recording ended. Source files that changed later are not shown.
	Made   time.Time
	Logger *slog.Logger // nil discards
}

// Run reads a recording and returns the listing of one function. It ends early if the context is
// done. The account says what happened to the records; it is valid even if there is an error.
func Run(ctx context.Context, o Options) (*Listing, engine.Account, error) {
	if o.Logger == nil {
		o.Logger = slog.New(slog.DiscardHandler)
	}
	e, err := engine.Start(ctx, o.Source, engine.Options{Logger: o.Logger})
	if err != nil {
		return nil, engine.Account{}, err
	}
	defer e.Close()
	s := newSink(e.Processes(), len(o.Events))
	if err := e.Enable(); err != nil {
		return nil, engine.Account{}, err
	}
	err = e.Run(s)
	account, accountErr := o.Source.Account()
	if err = errors.Join(err, accountErr); err != nil {
		return nil, account, err
	}
	symbolizer := symbolize.New(symbolize.Options{Host: o.Source.Host(), DebugFiles: o.DebugFiles, Logger: o.Logger})
	defer symbolizer.Close() // an error does not matter: the debug files were only read
	all := s.functions(symbolizer, &o)
	defer all.close()
	l, err := all.listing()
	return l, account, err
}
