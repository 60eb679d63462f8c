package kprobe

import (
	"strings"
	"testing"

	"github.com/ringtap/ringtap/ftrace"
	"github.com/ringtap/ringtap/perfevent"
	"github.com/ringtap/ringtap/symbols"
)

func TestPlacesWithoutANameAreToldApart(t *testing.T) {
	p := planOf("*", "first", "second", "third")
	p.Sites[1].Symbol, p.Sites[2].Symbol = "", ""
	p.text = p.Sites[0].Address - 16
	probes := make([]ftrace.Probe, len(p.Sites))
	for i := range probes {
		probes[i] = p.Sites[i].probe(len(probes))
	}
	p.tellApart(probes, true)
	for i, want := range []string{"first", "_stext+272", "_stext+528"} {
		if got := probes[i].Place; got != want {
			t.Errorf("place %d is %s, want %s", i, got, want)
		}
	}
}

// Linux 6.1 knows no $retval of a place that is an address.
func TestReturnsWithoutANameHavePlacesToo(t *testing.T) {
	p := planOf("*", "first", "second")
	p.text = p.Sites[0].Address - 16
	for i := range p.Sites {
		p.Sites[i].Symbol = ""
	}
	p.Sites[1].Return = true
	probes := []ftrace.Probe{p.Sites[0].probe(2), p.Sites[1].probe(2)}
	address := probes[0].Place
	p.tellApart(probes, false)
	if probes[0].Place != address || probes[1].Place != "_stext+272" {
		t.Errorf("the places are %s and %s, want %s and _stext+272", probes[0].Place, probes[1].Place, address)
	}
}

func TestLiveReturnsWithoutANameHaveTheirValues(t *testing.T) {
	count, n := hitsWithoutAName(t, "r:vfs_fallocate ret=$retval:s32", false, func(text string) bool {
		return strings.Contains(text, "<- vfs_fallocate) ret=-")
	})
	if count != n {
		t.Errorf("%d returns of vfs_fallocate have a value, want %d", count, n)
	}
}

func TestLiveFunctionsOfOneNameShareAnEvent(t *testing.T) {
	count, n := hitsWithoutAName(t, "p:vfs_[fc]*l*", true, func(text string) bool { return strings.HasPrefix(text, "(vfs_fallocate+0x0/") })
	if count != n {
		t.Errorf("%d hits of vfs_fallocate, want %d", count, n)
	}
}

// hitsWithoutAName counts the hits with a text of a definition whose places are probed as if each function
// had a namesake, while a program calls vfs_fallocate so many times.
func hitsWithoutAName(t *testing.T, definition string, merge bool, is func(text string) bool) (count, calls int) {
	t.Helper()
	p := livePlan(t, definition)
	table, err := kernel{}.symbols(false, func(*symbols.KernelSymbol) bool { return false })
	if err != nil {
		t.Fatal(err)
	}
	p.text = table.sections["text"].start
	for i := range p.Sites {
		p.Sites[i].Symbol = ""
	}
	a := attach(t, p, AttachOptions{Method: MethodKprobeEvents, Target: perfevent.System(), Merge: merge})
	const n = 20
	got := traceHits(t, a, perfevent.System(), func() {
		if err := program(n).Run(); err != nil {
			t.Error(err)
		}
	})
	for _, text := range got.texts {
		if is(text) {
			count++
		}
	}
	return count, callers * n
}
