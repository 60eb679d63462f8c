package disasm

import (
	"debug/elf"
	"fmt"
	"os"
	"testing"
)

func TestZZ(t *testing.T) {
	f, _ := elf.Open(os.Getenv("BIN"))
	s := f.Section(".text")
	b, _ := s.Data()
	out, _ := os.Create("/tmp/ann/d/x")
	d := Decoder{Machine: f.Machine}
	if os.Getenv("INTEL") != "" {
		d.Syntax = Intel
	}
	for _, i := range d.Function(b, s.Addr) {
		fmt.Fprintf(out, "%x:\t%s\n", i.Address, i.Text)
	}
}
