package printfmt

import (
	"encoding/binary"
	"testing"

	"github.com/ringtap/ringtap/ftrace"
)

// The expectations are the text of perf script 6.1.
func TestEventsArePrintedAsByLibTraceEvent(t *testing.T) {
	symbol := func(addr uint64) (string, uint64, uint64, string, bool) {
		return "vfs_read", 0x10, 0x20, "", addr == 0xffffffff81000010
	}
	for _, test := range []struct{ system, name, fields, print, want string }{
		{"kmem", "kfree", "void * ptr", `"ptr=%p", REC->ptr`, "ptr=0xffffffff81000010"},
		{"kmem", "kfree", "void * ptr", `"call_site=%pS", (void *)REC->ptr`, "call_site=vfs_read+0x10"},
		{"timer", "hrtimer_start", "void * ptr", `"function=%ps", REC->ptr`, "function=vfs_read"},
		{"syscalls", "sys_enter_close", "void * ptr", `"fd: 0x%08lx", ((unsigned long)(REC->ptr))`, "fd: 0xffffffff81000010"},
	} {
		format, err := ftrace.ParseFormat([]byte("name: " + test.name + "\nID: 1\nformat:\n" +
			"\tfield:" + test.fields + ";\toffset:8;\tsize:8;\tsigned:0;\n\nprint fmt: " + test.print + "\n"))
		if err != nil {
			t.Fatal(err)
		}
		format.System = test.system
		printer, err := New(format, Options{KernelSymbol: symbol, LibTraceEvent: true})
		if err != nil || printer.Fallback() != nil {
			t.Fatal(err, printer.Fallback())
		}
		raw := binary.LittleEndian.AppendUint64(make([]byte, 8), 0xffffffff81000010)
		if got := string(printer.Append(nil, raw)); got != test.want {
			t.Errorf("%s: %q, want %q", test.print, got, test.want)
		}
		if test.name == "kfree" {
			null := string(printer.Append(nil, make([]byte, 16)))
			if null != "ptr=(nil)" && null != "call_site=0x0" {
				t.Errorf("%s of null: %q", test.print, null)
			}
		}
	}
}
