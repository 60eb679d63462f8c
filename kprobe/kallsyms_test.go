package kprobe

import (
	"bytes"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
)

func TestSymbolsAreReadAsTheKernelWritesThem(t *testing.T) {
	const text = "ffffffff81000000 T _text\n" +
		"ffffffff81b49950 T vfs_read\n" +
		"ffffffff82000000 D jiffies\n" +
		"ffffffffc0001000 t nfs_open\t[nfs]\n" +
		"ffffffff81cef70 t odd]\n"
	type line struct {
		Address      uint64
		Kind         byte
		Name, Module string
	}
	var got []line
	err := eachSymbol(strings.NewReader(text), func(s *symbolLine) {
		got = append(got, line{s.address, s.kind, string(s.name), string(s.module)})
	})
	if err != nil {
		t.Fatal(err)
	}
	want := []line{
		{0xffffffff81000000, 'T', "_text", ""},
		{0xffffffff81b49950, 'T', "vfs_read", ""},
		{0xffffffff82000000, 'D', "jiffies", ""},
		{0xffffffffc0001000, 't', "nfs_open", "nfs"},
		{0xffffffff81cef70, 't', "odd]", ""},
	}
	if diff := cmp.Diff(want, got); diff != "" {
		t.Errorf("want -, got +:\n%s", diff)
	}
}

func TestTextThatIsNoListIsAnError(t *testing.T) {
	for name, text := range map[string]string{
		"no address":      "T vfs_read\n",
		"no type":         "ffffffff81000000 vfs_read\n",
		"a page of HTML":  "<html>\n",
		"an endless line": strings.Repeat("f", 1<<20),
	} {
		if err := eachSymbol(strings.NewReader(text), func(*symbolLine) {}); err == nil {
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
		table, err := readSymbols(bytes.NewReader(text), true, func(*symbolLine) bool { return true })
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
