package kprobe

import (
	"bytes"
	"strings"
	"testing"

	"github.com/ringtap/ringtap/symbols"
)

func TestTextThatIsNoListIsAnError(t *testing.T) {
	for name, text := range map[string]string{
		"no address":      "T vfs_read\n",
		"no type":         "ffffffff81000000 vfs_read\n",
		"a page of HTML":  "<html>\n",
		"an endless line": strings.Repeat("f", 1<<20),
	} {
		if _, err := readSymbols(strings.NewReader(text), false, func(*symbols.KernelSymbol) bool { return false }); err == nil {
			t.Errorf("%s: no error", name)
		}
	}
	for _, text := range []string{"0x10-0x20", "10-20\tf", "0x10\tf", "0x10-\tf", "0x1g-0x20\tf"} {
		if list, err := readBlacklist(strings.NewReader(text)); (err == nil) != (text == "0x10-0x20") {
			t.Errorf("%q: %v, %v", text, list, err)
		}
	}
}

func FuzzKernelLists(f *testing.F) {
	f.Add([]byte("ffffffff81000000 T __kprobes_text_start\nffffffffc0001000 t nfs_open\t[nfs]\n0x10-0x20\tf\nvfs_read [m]\n"))
	f.Add([]byte("0 T \n"))
	f.Add([]byte("1 t []\t[]\n"))
	f.Fuzz(func(t *testing.T, text []byte) {
		table, err := readSymbols(bytes.NewReader(text), true, func(*symbols.KernelSymbol) bool { return true })
		if err == nil {
			if len(table.found) > bytes.Count(text, []byte("\n"))+1 {
				t.Errorf("%d symbols of %q", len(table.found), text)
			}
			table.end(0x10)
		}
		if list, err := readTraced(bytes.NewReader(text), func([]byte) bool { return true }); err == nil {
			list.has(&Function{Name: "f.cold"})
		}
		list, err := readBlacklist(bytes.NewReader(text))
		for _, s := range list {
			if err == nil && (s.start >= s.end || !s.has(s.start) || s.has(s.end)) {
				t.Errorf("%q gives %v", text, s)
			}
		}
	})
}
