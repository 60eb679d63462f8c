package callchain

import (
	"bufio"
	"debug/elf"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"testing"
)

// readelfRow is one line of readelf --debug-dump=frames-interp: the rules as
// it writes them, by the name of the column.
type readelfRow struct {
	start, end uint64 // virtual addresses
	rules      map[string]string
	signal     bool
}

// readelfRows runs readelf over the call frame information of a file.
func readelfRows(t *testing.T, path string) []readelfRow {
	t.Helper()
	readelf, err := exec.LookPath("readelf")
	if err != nil {
		t.Skip("readelf is missing")
	}
	cmd := exec.Command(readelf, "--debug-dump=frames-interp", path)
	out, err := cmd.StdoutPipe()
	if err != nil {
		t.Fatal(err)
	}
	if err := cmd.Start(); err != nil {
		t.Fatal(err)
	}
	defer cmd.Wait()
	d := readelfDump{cies: make(map[string]readelfCIE)}
	lines := bufio.NewScanner(out)
	for lines.Scan() {
		d.line(lines.Text())
	}
	d.finish()
	return d.rows
}

type readelfCIE struct {
	rules  map[string]string
	signal bool
}

// readelfDump is the state of reading readelf's text.
type readelfDump struct {
	cies    map[string]readelfCIE
	cie     string // offset of the CIE being read; "" in an FDE
	columns []string
	rows    []readelfRow
	first   int // the FDE's first row
	end     uint64
	begin   uint64
	from    readelfCIE // of the FDE
	inFDE   bool
}

var registerNumber = regexp.MustCompile(`\br\d+ \((\w+)\)`)

func (d *readelfDump) line(text string) {
	// A register is written with its number, "r1 (rdx)".
	fields := strings.Fields(registerNumber.ReplaceAllString(text, "$1"))
	switch {
	case len(fields) >= 5 && fields[3] == "CIE":
		d.finish()
		d.cie = fields[0]
		d.cies[d.cie] = readelfCIE{signal: strings.Contains(fields[4], "S")}
	case len(fields) >= 6 && fields[3] == "FDE":
		d.finish()
		d.cie, d.inFDE, d.first = "", true, len(d.rows)
		d.from = d.cies[strings.TrimPrefix(fields[4], "cie=")]
		fmt.Sscanf(fields[5], "pc=%x..%x", &d.begin, &d.end)
	case len(fields) >= 2 && fields[0] == "LOC":
		d.columns = fields[1:]
	case len(fields) >= 2 && len(fields) == len(d.columns)+1:
		d.rule(fields)
	}
}

func (d *readelfDump) rule(fields []string) {
	loc, err := strconv.ParseUint(fields[0], 16, 64)
	if err != nil {
		return
	}
	rules := make(map[string]string)
	for i, name := range d.columns {
		rules[name] = fields[i+1]
	}
	if d.cie != "" {
		c := d.cies[d.cie]
		c.rules = rules
		d.cies[d.cie] = c
		return
	}
	if n := len(d.rows); n > d.first {
		d.rows[n-1].end = loc
	}
	d.rows = append(d.rows, readelfRow{start: loc, rules: rules, signal: d.from.signal})
}

// finish closes the FDE being read. One without instructions has the rules of
// its CIE.
func (d *readelfDump) finish() {
	d.columns = nil
	if !d.inFDE {
		return
	}
	d.inFDE = false
	if len(d.rows) == d.first && d.from.rules != nil {
		d.rows = append(d.rows, readelfRow{start: d.begin, rules: d.from.rules, signal: d.from.signal})
	}
	if n := len(d.rows); n > d.first {
		d.rows[n-1].end = d.end
	}
}

// columnNames are readelf's names of the DWARF columns.
func columnNames(a Arch) []string {
	if a == AMD64 {
		return []string{"rax", "rdx", "rcx", "rbx", "rsi", "rdi", "rbp", "rsp",
			"r8", "r9", "r10", "r11", "r12", "r13", "r14", "r15", "ra"}
	}
	var names []string
	for i := range 31 {
		names = append(names, fmt.Sprintf("x%d", i))
	}
	names = append(names, "sp", "pc")
	names[arm64.ra] = "ra"
	return names
}

// readelfForm writes a rule as readelf does.
func readelfForm(r rule, base string, names []string) string {
	switch r.kind {
	case ruleUndefined, ruleSame:
		return "u"
	case ruleOffset:
		return fmt.Sprintf("%s%+d", base, r.val)
	case ruleValOffset:
		return fmt.Sprintf("v%+d", r.val)
	case ruleRegister:
		if names[r.val] == "ra" {
			return "u" // still in the link register, which readelf calls undefined
		}
		return names[r.val]
	case ruleExpr:
		return "exp"
	}
	return "vexp"
}

// describeSet writes a set as readelf does, only the columns that have rules.
func describeSet(t *Table, s *ruleSet) map[string]string {
	names := columnNames(t.arch)
	rules := map[string]string{"ra": readelfForm(s.ra, "c", names)}
	if s.cfa.kind == ruleValExpr {
		rules["CFA"] = "exp"
	} else {
		rules["CFA"] = fmt.Sprintf("%s%+d", names[s.cfa.reg], s.cfa.val)
	}
	for _, r := range s.rules {
		rules[names[r.reg]] = readelfForm(r, "c", names)
	}
	return rules
}

// comparePeer compares the table of a file with every row that readelf finds,
// in every column.
func comparePeer(t *testing.T, path string) {
	t.Helper()
	f, err := os.Open(path)
	if err != nil {
		t.Skipf("%s is missing: %v", path, err)
	}
	defer f.Close()
	table, err := Compile(f)
	if err != nil {
		t.Fatal(err)
	}
	file, err := elf.NewFile(f)
	if err != nil {
		t.Fatal(err)
	}
	rows, wrong := readelfRows(t, path), 0
	for _, row := range rows {
		for _, vaddr := range []uint64{row.start, row.end - 1} {
			if row.end <= row.start {
				continue // replaced at once by the next row
			}
			if diff := compareRow(table, row, fileOffset(file, vaddr)); diff != "" {
				if wrong++; wrong <= 10 {
					t.Errorf("%s at %#x: %s", path, vaddr, diff)
				}
			}
		}
	}
	if len(rows) == 0 {
		t.Errorf("%s: readelf shows no rows", path)
	}
	t.Logf("%s: %d rows of readelf, %d wrong; %d functions in %d bytes", path, len(rows), wrong, table.Functions(), table.Bytes())
}

// compareRow says how the table's row at an offset differs from readelf's.
func compareRow(table *Table, row readelfRow, offset uint64) string {
	set := table.find(offset)
	if set == nil {
		return fmt.Sprintf("no rule, readelf has %v", row.rules)
	}
	got := describeSet(table, set)
	if signal := set.flags&flagSignal != 0; signal != row.signal {
		return fmt.Sprintf("signal frame is %v, readelf says %v", signal, row.signal)
	}
	names := append(columnNames(table.arch), "CFA")
	for name, want := range row.rules {
		if !slices.Contains(names, name) {
			continue // a vector register
		}
		if row.rules["ra"] == "u" && set.ra.kind == ruleUndefined {
			continue // outermost: nothing else matters
		}
		have, ok := got[name]
		if !ok || want == "s" {
			have, want = strings.Replace(have, "s", "u", 1), strings.Replace(want, "s", "u", 1)
			if have == "" {
				have = "u"
			}
		}
		if have != want {
			return fmt.Sprintf("%s is %s, readelf has %s", name, have, want)
		}
	}
	return ""
}

// fileOffset converts a virtual address by the segment that holds it.
func fileOffset(f *elf.File, vaddr uint64) uint64 {
	for _, p := range f.Progs {
		if p.Type == elf.PT_LOAD && vaddr-p.Vaddr < p.Filesz {
			return vaddr - p.Vaddr + p.Off
		}
	}
	return 0
}

func TestPeerRowsOfSystemLibrariesEqualReadelfs(t *testing.T) {
	for _, name := range []string{"libc.so.6", "ld-linux-x86-64.so.2", "libcrypto.so.3", "libstdc++.so.6", "libm.so.6"} {
		t.Run(name, func(t *testing.T) { comparePeer(t, libraryPath(t, name)) })
	}
}

func TestPeerRowsOfArm64LibrariesEqualReadelfs(t *testing.T) {
	for _, name := range []string{"libc.so.6", "ld-linux-aarch64.so.1", "libm.so.6"} {
		t.Run(name, func(t *testing.T) {
			comparePeer(t, filepath.Join("/usr/aarch64-linux-gnu/lib", name))
		})
	}
}
