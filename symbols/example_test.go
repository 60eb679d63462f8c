package symbols_test

import (
	"fmt"
	"log"
	"os"
	"strings"

	"github.com/ringtap/ringtap/symbols"
)

// The function and the lines of a frame, one of which is an inlined call.
func Example() {
	file, err := os.Open("testdata/tiny.elf")
	if err != nil {
		log.Fatal(err)
	}
	defer file.Close()
	info, err := file.Stat()
	if err != nil {
		log.Fatal(err)
	}
	f, err := symbols.Open(file, info.Size(), symbols.Options{})
	if err != nil {
		log.Fatal(err)
	}
	defer f.Close()

	const offset = 0x120 // address − start of the mapping + the mapping's offset
	if s, ok := f.Lookup(offset); ok {
		fmt.Printf("%s+%#x\n", symbols.Demangle(s.Name), offset-s.Start)
	}
	lines, err := f.Lines(offset)
	if err != nil {
		log.Fatal(err)
	}
	for _, l := range lines {
		fmt.Printf("%s at line %d\n", l.Function, l.Line)
	}
	// Output:
	// _start+0xa
	// h at line 2
	// _start at line 3
}

// Where to probe a function of a file, and what to fetch there.
func ExampleFile_Find() {
	file, err := os.Open("testdata/params-plain.elf")
	if err != nil {
		log.Fatal(err)
	}
	defer file.Close()
	info, err := file.Stat()
	if err != nil {
		log.Fatal(err)
	}
	f, err := symbols.Open(file, info.Size(), symbols.Options{})
	if err != nil {
		log.Fatal(err)
	}
	defer f.Close()

	found, err := f.Find("g")
	if err != nil {
		log.Fatal(err)
	}
	for _, fn := range found {
		fmt.Printf("%s at %#x, %d bytes\n", fn.Name, fn.Offset, fn.Size)
		params, err := f.Params(fn.Offset)
		if err != nil {
			log.Fatal(err)
		}
		for _, p := range params[:2] {
			fmt.Printf("%s %s in register %d of DWARF\n", p.Type, p.Name, p.Location.Register)
		}
	}
	places, err := f.Places("params.c", 8)
	if err != nil {
		log.Fatal(err)
	}
	for _, p := range places {
		fmt.Printf("line %d at %#x in %s\n", p.Line, p.Offset, p.Function)
	}
	fmt.Println(f.Nearest("G", 1))
	// Output:
	// g at 0x1b4, 102 bytes
	// long a in register 5 of DWARF
	// long b in register 4 of DWARF
	// line 8 at 0x1b4 in g
	// [g]
}

func ExampleReadKallsyms() {
	text := "ffffffff81000000 T do_work\n" +
		"ffffffff81000080 T do_more\n" +
		"ffffffffc0000000 t helper\t[driver]\n"
	k, err := symbols.ReadKallsyms(strings.NewReader(text)) // or /proc/kallsyms
	if err != nil {
		log.Fatal(err)
	}
	for _, addr := range []uint64{0xffffffff81000010, 0xffffffffc0000004} {
		s, _ := k.Lookup(addr)
		fmt.Printf("%s+%#x [%s]\n", s.Name, addr-s.Start, s.Module)
	}
	// Output:
	// do_work+0x10 []
	// helper+0x4 [driver]
}

func ExampleReadPerfMap() {
	m, err := symbols.ReadPerfMap(strings.NewReader("7f0000001000 40 LazyCompile:*add /app/a.js:3\n"), 0)
	if err != nil {
		log.Fatal(err)
	}
	s, _ := m.Lookup(0x7f0000001010)
	fmt.Println(s.Name)
	// Output: LazyCompile:*add /app/a.js:3
}

func ExampleDemangle() {
	fmt.Println(symbols.Demangle("_ZN2ns1T1fEPKc.cold"))
	fmt.Println(symbols.Demangle("_ZN4core3fmt5Write9write_fmt17h0123456789abcdefE"))
	// Output:
	// ns::T::f.cold
	// core::fmt::Write::write_fmt
}
