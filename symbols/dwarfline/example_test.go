package dwarfline_test

import (
	"debug/elf"
	"fmt"
	"log"
	"os"
	"os/exec"
	"path/filepath"
	"strings"

	"github.com/ringtap/ringtap/symbols/dwarfline"
)

// sections hands out the sections of an ELF file, decompressed.
type sections struct{ *elf.File }

func (s sections) SectionData(name string) ([]byte, error) {
	if sec := s.Section(name); sec != nil {
		return sec.Data()
	}
	return nil, nil
}

// A program is compiled; the first instruction of its main comes from a known
// line.
func Example() {
	dir, err := os.MkdirTemp("", "dwarfline")
	if err != nil {
		log.Fatal(err)
	}
	defer os.RemoveAll(dir)
	program := filepath.Join(dir, "program")
	gcc := exec.Command("gcc", "-g", "-x", "c", "-o", program, "-")
	gcc.Stdin = strings.NewReader("\n\nint main(void)\n{\n\treturn 0;\n}\n")
	if err := gcc.Run(); err != nil {
		log.Fatal(err)
	}

	f, err := elf.Open(program)
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
		if s.Name != "main" {
			continue
		}
		lines, err := index.Lookup(s.Value)
		if err != nil {
			log.Fatal(err)
		}
		for _, l := range lines {
			fmt.Printf("%s, line %d, declared in line %d\n", l.Function, l.Line, l.StartLine)
		}
	}
	// Output: main, line 4, declared in line 3
}
