package ftrace

import (
	"errors"
	"fmt"
	"io/fs"
	"os"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
)

func TestAnArgumentThatIsNoNumberHasNoKprobeFormat(t *testing.T) {
	for _, kind := range []string{"string", "u32[4]", "b3@0/8", "symbol", "char"} {
		if _, err := KprobeFormat("kprobes", "f", []FetchArg{{Name: "a", Fetch: "%di", Type: kind}}); err == nil || !strings.Contains(err.Error(), kind) {
			t.Errorf("%s: %v", kind, err)
		}
	}
}

func TestLiveKprobeFormatsAreTheKernelsOwn(t *testing.T) {
	tracefs, _, err := Mount()
	if err != nil {
		t.Skip(err)
	}
	self, err := os.Executable()
	if err != nil {
		t.Fatal(err)
	}
	var args []FetchArg
	for i, kind := range []string{"", "u8", "s8", "x8", "u16", "s16", "x16", "u32", "s32", "x32", "u64", "s64", "x64", "u8"} {
		args = append(args, FetchArg{Name: fmt.Sprint("a", i), Fetch: "$stack0", Type: kind})
	}
	defined := 0
	// Both kinds of probes have the same records; few kernels lack both.
	for file, place := range map[string]string{"kprobe_events": "vfs_read", "uprobe_events": self + ":0x1000"} {
		group, err := tracefs.NewGroup(file)
		if errors.Is(err, fs.ErrNotExist) || errors.Is(err, fs.ErrPermission) {
			continue
		}
		if err != nil {
			t.Fatal(err)
		}
		defer group.Close()
		defined++
		for n := range len(args) + 1 {
			event := fmt.Sprint("e", n)
			words := make([]string, n)
			for i := range n {
				words[i] = args[i].String()
			}
			id, err := group.Define(Dynamic{Type: 'p', Event: event, Place: place, Args: strings.Join(words, " ")})
			if err != nil {
				t.Fatal(err)
			}
			want, err := tracefs.Format(group.Name(), event)
			if err != nil {
				t.Fatal(err)
			}
			got, err := KprobeFormat(group.Name(), event, args[:n])
			if err != nil {
				t.Fatal(err)
			}
			got.ID = int(id)
			if diff := cmp.Diff(want, got); diff != "" {
				t.Errorf("%s with %d arguments (-kernel +ours):\n%s", file, n, diff)
			}
		}
	}
	if defined == 0 {
		t.Skip("this kernel has neither kprobe_events nor uprobe_events")
	}
}
