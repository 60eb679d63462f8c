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
	p := livePlan(t, "r:vfs_fallocate ret=$retval:s64")
	table, err := kernel{}.symbols(false, func(*symbols.KernelSymbol) bool { return false })
	if err != nil {
		t.Fatal(err)
	}
	p.text = table.sections["text"].start
	p.Sites[0].Symbol = "" // as if it had a namesake
	a := attach(t, p, AttachOptions{Method: MethodKprobeEvents, Target: perfevent.System()})
	const n = 20
	got := traceHits(t, a, perfevent.System(), func() {
		if err := program(n).Run(); err != nil {
			t.Error(err)
		}
	})
	count := 0
	for _, text := range got.texts {
		if strings.Contains(text, "<- vfs_fallocate) ret=-") {
			count++
		}
	}
	if count < n {
		t.Errorf("%d of %d returns have a value: %q", count, n, got.texts[:min(3, len(got.texts))])
	}
}

func TestLiveFunctionsOfOneNameShareAnEvent(t *testing.T) {
	p := livePlan(t, "p:vfs_[fc]*l*")
	table, err := kernel{}.symbols(false, func(*symbols.KernelSymbol) bool { return false })
	if err != nil {
		t.Fatal(err)
	}
	p.text = table.sections["text"].start
	for i := range p.Sites {
		p.Sites[i].Symbol = "" // as if each had a namesake
	}
	a := attach(t, p, AttachOptions{Method: MethodKprobeEvents, Target: perfevent.System(), Merge: true})
	const n = 20
	got := traceHits(t, a, perfevent.System(), func() {
		if err := program(n).Run(); err != nil {
			t.Error(err)
		}
	})
	count := 0
	for _, text := range got.texts {
		if strings.HasPrefix(text, "(vfs_fallocate+0x0/") {
			count++
		}
	}
	if count != callers*n {
		t.Errorf("%d hits of vfs_fallocate among %d, want %d", count, len(got.texts), callers*n)
	}
}
