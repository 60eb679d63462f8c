package block

import (
	"fmt"

	"github.com/ringtap/ringtap/ftrace"
	"github.com/ringtap/ringtap/internal/collect"
	"github.com/ringtap/ringtap/internal/collect/table"
)

// Open returns the collector of a run.
func Open(run *collect.Run) ([]table.Collector, error) {
	tracefs, _, err := ftrace.Mount()
	if err != nil {
		return nil, err
	}
	formats, err := ReadFormats(tracefs)
	if err != nil {
		return nil, fmt.Errorf("--block: %w (a kernel without CONFIG_BLOCK has none)", err)
	}
	run.NoteBlind(tracefs, "a request that completes then still counts as in progress")
	collector, err := New(formats, run.Whole(), run.Stacks())
	if err != nil {
		return nil, err
	}
	return []table.Collector{collector}, nil
}
