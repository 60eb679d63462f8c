package ftrace

import (
	"slices"
	"testing"
)

func TestTheJournalOfATraceIsRead(t *testing.T) {
	const journal = `# tracer: nop
#
# entries-in-buffer/entries-written: 7/7   #P:2
#
tracing_mark_write: ringtap-journal 1 0/1 before current_tracer "nop"
tracing_mark_write: ringtap-journal 3 1/2 before set_ftrace_filter "vfs_write"
tracing_mark_write: ringtap-journal 3 0/2 before set_ftrace_filter "vfs_read\n"

tracing_mark_write: ringtap-journal 2 0/1 now current_tracer "function_graph"
tracing_mark_write: ringtap-journal 4 0/2 before tracing_on "1"
tracing_mark_write: ringtap-journal 5 0/1 before ../../etc/passwd "1"
tracing_mark_write: ringtap-journal 6 0/1 before max_graph_depth 1
tracing_mark_write: something else
`
	want := []note{{"current_tracer", "nop", "function_graph"}, {"set_ftrace_filter", "vfs_read\nvfs_write", ""}}
	if got := parseJournal(journal); !slices.Equal(got, want) {
		t.Errorf("%+v; want %+v", got, want)
	}
}

func TestAChangeThatWasNotNotedToItsEndIsUnknown(t *testing.T) {
	got := parseJournal(`ringtap-journal 1 0/1 before tracing_thresh "0"
ringtap-journal 2 0/1 now tracing_thresh "10"
ringtap-journal 3 0/1 now tracing_thresh ""
`)
	if want := []note{{"tracing_thresh", "0", ""}}; !slices.Equal(got, want) {
		t.Errorf("%+v; want %+v", got, want)
	}
}

func FuzzJournal(f *testing.F) {
	f.Add(`ringtap-journal 1 0/1 before tracing_thresh "0"` + "\n" + `ringtap-journal 2 0/2 now tracing_thresh "1"`)
	f.Add(`ringtap-journal 9999999999 0/1000000 before tracing_thresh "\x00"`)
	f.Fuzz(func(t *testing.T, text string) {
		for _, n := range parseJournal(text) {
			if !isSetting(n.name) {
				t.Errorf("the journal names %q", n.name)
			}
		}
	})
}
