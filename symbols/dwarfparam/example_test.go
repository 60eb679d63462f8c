package dwarfparam_test

import (
	"debug/elf"
	"fmt"
	"log"

	"github.com/ringtap/ringtap/symbols/dwarfline"
	"github.com/ringtap/ringtap/symbols/dwarfparam"
)

// sections hands out the sections of an ELF file, decompressed.
type sections struct{ *elf.File }

func (s sections) SectionData(name string) ([]byte, error) {
	if sec := s.Section(name); sec != nil {
		return sec.Data()
	}
	return nil, nil
}

func Example() {
	f, err := elf.Open("../testdata/params-optimized.elf")
	if err != nil {
		log.Fatal(err)
	}
	defer f.Close()
	index, err := dwarfline.Open(sections{f}, f.ByteOrder)
	if err != nil {
		log.Fatal(err)
	}
	symbols, err := f.Symbols()
	if err != nil {
		log.Fatal(err)
	}
	for _, s := range symbols {
		if s.Name != "f" {
			continue
		}
		params, err := dwarfparam.Read(index, s.Value, dwarfparam.Options{Machine: f.Machine})
		if err != nil {
			log.Fatal(err)
		}
		for _, p := range params {
			show("", p)
		}
	}
	// Output:
	// text s: register 4
	// struct two t: it is in several places: see its parts
	//   long x: register 1
	//   text y: register 2
	// struct big b: CFA+0
	//   long [3] v: CFA+0
	//   long t.x: CFA+24
	//   text t.y: CFA+32
	// double d: it is passed in a floating-point register, which probes can't read
	// enum e e: register 8
	// union u u: register 9
	//   int i: register 9
	//   float f: register 9
	// int (*)(int, ...) cb: CFA+40
	// int last: CFA+48
}

func show(indent string, p dwarfparam.Param) {
	switch loc := p.Location; loc.Where {
	case dwarfparam.Register:
		fmt.Printf("%s%s %s: register %d\n", indent, p.Type, p.Name, loc.Register)
	case dwarfparam.Stack:
		fmt.Printf("%s%s %s: CFA+%d\n", indent, p.Type, p.Name, loc.Offset)
	default:
		fmt.Printf("%s%s %s: %s\n", indent, p.Type, p.Name, loc.Why)
	}
	for _, part := range p.Parts {
		show(indent+"  ", part)
	}
}
