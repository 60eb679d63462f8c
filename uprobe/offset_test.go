package uprobe

import (
	"errors"
	"fmt"
	"os/exec"
	"slices"
	"strings"
	"testing"

	"github.com/ringtap/ringtap/uprobe/placement"
)

// instructions are the addresses at which objdump shows instructions of a
// function.
func instructions(t *testing.T, program, function string) (addresses []uint64) {
	t.Helper()
	if _, err := exec.LookPath("objdump"); err != nil {
		t.Skip("objdump is not installed")
	}
	out, err := exec.Command("objdump", "-d", "--no-show-raw-insn", "--disassemble="+function, program).Output()
	if err != nil {
		t.Fatal(err)
	}
	for line := range strings.Lines(string(out)) {
		var addr uint64
		if n, _ := fmt.Sscanf(line, " %x:", &addr); n == 1 {
			addresses = append(addresses, addr)
		}
	}
	if len(addresses) < 3 {
		t.Fatalf("objdump shows %d instructions of %s", len(addresses), function)
	}
	return addresses
}

func TestPeerOffsetsAreTakenWhereObjdumpShowsInstructions(t *testing.T) {
	program := build(t, "pie") // the linker lays out its code at offsets that are the addresses
	addresses := instructions(t, program, "target")
	start, last := addresses[0], addresses[len(addresses)-1]
	for addr := start; addr <= last; addr++ {
		for _, place := range []string{fmt.Sprintf("%#x", addr), fmt.Sprintf("target+%d", addr-start)} {
			p, err := tryResolve("p:"+program+":"+place, Options{})
			if slices.Contains(addresses, addr) {
				if err != nil {
					t.Errorf("%s: %v", place, err)
				} else if p.Sites[0].Offset != addr && !strings.HasSuffix(place, "+0") {
					t.Errorf("%s: the site is %#x, want %#x", place, p.Sites[0].Offset, addr)
				}
			} else if _, ok := as[*placement.NotBoundaryError](err); !ok {
				t.Errorf("%s, within an instruction: the error is %v", place, err)
			}
			if err == nil {
				p.Close()
			}
		}
	}
}

func TestAnOffsetThatIsNoPlaceSaysWhy(t *testing.T) {
	program := build(t, "pie")
	for place, want := range map[string]string{
		"target+0x10000":     "",
		"0x0":                "no code is there",
		"0xffffffffffffffff": "no code is there",
		"0x2000":             "",
	} {
		p, err := tryResolve("p:"+program+":"+place, Options{})
		if err == nil {
			p.Close()
		}
		if e, ok := as[*PlaceError](err); !ok || !strings.Contains(e.Error(), want) {
			t.Errorf("%s: the error is %v", place, err)
		}
	}
	p := resolve(t, "p:"+program+":target", Options{Exact: true})
	start := p.Sites[0].Offset
	resolve(t, fmt.Sprintf("r:%s:%#x", program, start), Options{})
	if _, err := tryResolve(fmt.Sprintf("r:%s:%#x", program, start+4), Options{}); err == nil {
		t.Error("a return probe is taken within a function")
	}
}

func TestAnAddressIsExplainedWhereAnOffsetIsMeant(t *testing.T) {
	program := build(t, "nopie")
	p := resolve(t, "p:"+program+":target", Options{Exact: true})
	vaddr, _ := p.target.image.Vaddr(p.Sites[0].Offset)
	if vaddr == p.Sites[0].Offset {
		t.Skip("this linker gives programs addresses that are their offsets")
	}
	_, err := tryResolve(fmt.Sprintf("p:%s:%#x", program, vaddr), Options{})
	if e, ok := as[*PlaceError](err); !ok || !strings.Contains(e.Error(), fmt.Sprintf("file offset %#x", p.Sites[0].Offset)) {
		t.Errorf("the error is %v", err)
	}
}

func TestCodeWithoutNamesIsReadFromTheSectionsStart(t *testing.T) {
	if out, err := exec.Command("strip", "--version").Output(); err != nil {
		t.Skipf("strip is not installed: %s", out)
	}
	program := own(t, "static")
	offset := resolve(t, "p:"+program+":target", Options{Exact: true}).Sites[0].Offset
	var starts []uint64 // as offsets of the file
	addresses := instructions(t, program, "target")
	for _, addr := range addresses {
		starts = append(starts, addr-addresses[0]+offset)
	}
	if out, err := exec.Command("strip", program).CombinedOutput(); err != nil {
		t.Fatalf("%v\n%s", err, out)
	}
	resolve(t, fmt.Sprintf("p:%s:%#x", program, offset), Options{Exact: true})
	within := offset + 1
	for slices.Contains(starts, within) {
		within++
	}
	if _, err := tryResolve(fmt.Sprintf("p:%s:%#x", program, within), Options{}); err == nil {
		t.Errorf("%#x, within an instruction, is taken", within)
	} else if _, ok := as[*PlaceError](err); !ok {
		t.Errorf("within an instruction the error is %v", err)
	}
	p, err := tryResolve(fmt.Sprintf("p:%s:%#x", program, offset), Options{})
	if err == nil {
		p.Close()
	} else if !errors.Is(err, errNoStart) {
		t.Errorf("at an instruction the error is %v", err)
	}
}
