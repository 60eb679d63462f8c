package elfimage_test

import (
	"debug/elf"
	"os"
	"testing"

	"github.com/ringtap/ringtap/internal/object/elfimage"
	"github.com/ringtap/ringtap/internal/testkit/compiled"
)

// pointers has addresses of all kinds: of functions and data of its own, hidden and
// exported, with a distance, and of another file.
const pointers = `
int abs(int);
static int hidden(int x) { return x; }
int exported(int x) { return x; }
static const char text[] = "some text";
int zeros[9];
void *table[] = {hidden, exported, (void *)(text + 5), zeros + 2, IMPORTED};
`

func TestWordsAreTheAddressesThatTheLoaderPutsThere(t *testing.T) {
	for _, build := range []struct {
		name    string
		command []string
	}{
		{"library", []string{"gcc", "-shared", "-fPIC", "-DIMPORTED=abs"}},
		{"relative relocations packed", []string{"gcc", "-shared", "-fPIC", "-Wl,-z,pack-relative-relocs", "-DIMPORTED=abs"}},
		{"code beside data", []string{"gcc", "-shared", "-fPIC", "-Wl,-z,noseparate-code", "-DIMPORTED=abs"}},
		{"program at a fixed address", []string{"gcc", "-nostdlib", "-static", "-no-pie", "-Wl,-e,exported", "-DIMPORTED=0"}},
		{"library for arm64", []string{"aarch64-linux-gnu-gcc", "-shared", "-fPIC", "-DIMPORTED=abs"}},
	} {
		t.Run(build.name, func(t *testing.T) {
			command := append(build.command, "-o", "pointers", "pointers.c")
			m, symbols := open(t, compiled.Program(t, map[string]string{"pointers.c": pointers}, command...))
			l, err := m.Loaded(1 << 20)
			if err != nil {
				t.Fatal(err)
			}
			table := symbols["table"]
			for i, want := range []uint64{symbols["hidden"], symbols["exported"], symbols["text"] + 5, symbols["zeros"] + 8, 0} {
				if got := l.Word(table + uint64(i)*8); got != want {
					t.Errorf("word %d is %#x, want %#x", i, got, want)
				}
			}
			if text, ok := l.Text(l.Word(table+16), 5); string(text) != "text" || !ok {
				t.Errorf("the text is %q, %v", text, ok)
			}
			if text, ok := l.Text(l.Word(table+16), 4); ok {
				t.Errorf("a text of four bytes at most is %q", text)
			}
			if !l.Holds(symbols["zeros"]) || l.Word(symbols["zeros"]) != 0 || l.Holds(1<<40) || l.Word(1<<40) != 0 {
				t.Error("memory that is in no file, or nowhere, has bytes")
			}
			visited := map[uint64]bool{}
			l.Data(func(addr uint64) bool {
				visited[addr] = true
				return true
			})
			if !visited[table] || !visited[table+8] || visited[symbols["exported"]&^7] {
				t.Error("the words of data are not those that are visited")
			}
		})
	}
}

func TestAFileIsNotLoadedBeyondTheLimit(t *testing.T) {
	m, _ := open(t, compiled.Program(t, map[string]string{"pointers.c": pointers}, "gcc", "-shared", "-fPIC", "-DIMPORTED=abs", "-o", "pointers", "pointers.c"))
	if _, err := m.Loaded(1000); err == nil {
		t.Error("more than 1,000 bytes are loaded")
	}
}

// open opens a file and has debug/elf read the addresses of its symbols.
func open(t *testing.T, path string) (*elfimage.Image, map[string]uint64) {
	t.Helper()
	file, err := os.Open(path)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { file.Close() })
	info, err := file.Stat()
	if err != nil {
		t.Fatal(err)
	}
	m, err := elfimage.New(file, info.Size())
	if err != nil {
		t.Fatal(err)
	}
	reference, err := elf.NewFile(file)
	if err != nil {
		t.Fatal(err)
	}
	all, err := reference.Symbols()
	if err != nil {
		t.Fatal(err)
	}
	addresses := map[string]uint64{}
	for _, s := range all {
		addresses[s.Name] = s.Value
	}
	return m, addresses
}
