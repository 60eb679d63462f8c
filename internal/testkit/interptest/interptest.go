// Package interptest records the memory that walks of interpreted calls read in a process,
// and damages such recordings, for tests and fuzz targets.
package interptest

import (
	"cmp"
	"encoding/json"
	"os"
	"slices"
	"testing"

	"github.com/ringtap/ringtap/internal/runtimes/interp"
)

// Recorder is a memory that reads from another one and keeps what it read.
type Recorder struct {
	interp.Memory
	bytes map[uint64]byte
}

// NewRecorder returns a Recorder that reads from m and has kept nothing yet.
func NewRecorder(m interp.Memory) *Recorder { return &Recorder{m, make(map[uint64]byte)} }

// Read implements interp.Memory.
func (r *Recorder) Read(addr uint64, b []byte) bool {
	if !r.Memory.Read(addr, b) {
		return false
	}
	for i, c := range b {
		r.bytes[addr+uint64(i)] = c
	}
	return true
}

// Image returns the bytes that were read so far.
func (r *Recorder) Image() (image interp.Image) {
	addrs := make([]uint64, 0, len(r.bytes))
	for addr := range r.bytes {
		addrs = append(addrs, addr)
	}
	slices.Sort(addrs)
	for _, addr := range addrs {
		last := len(image) - 1
		if last < 0 || image[last].Addr+uint64(len(image[last].Bytes)) != addr {
			image = append(image, interp.Page{Addr: addr})
			last++
		}
		image[last].Bytes = append(image[last].Bytes, r.bytes[addr])
	}
	return image
}

// Save writes a value as JSON.
func Save(t testing.TB, path string, v any) {
	t.Helper()
	b, err := json.Marshal(v)
	if err != nil {
		t.Fatal(err)
	}
	if err := os.WriteFile(path, append(b, '\n'), 0o644); err != nil {
		t.Fatal(err)
	}
}

// Load reads what Save has written.
func Load(t testing.TB, path string, v any) {
	t.Helper()
	b, err := os.ReadFile(path)
	if err != nil {
		t.Fatal(err)
	}
	if err := json.Unmarshal(b, v); err != nil {
		t.Fatal(err)
	}
}

// Damaged returns a damaged copy of an image. damage consists of triples of bytes. The first
// two bytes are a place in the image. If the place is even, the byte there is XORed with the
// third byte. If it is odd, the word there is replaced by the word that the third byte numbers,
// so that pointers lead elsewhere.
func Damaged(image interp.Image, damage []byte) interp.Image {
	var all []*byte
	copied := make(interp.Image, len(image))
	for i, page := range image {
		copied[i] = interp.Page{Addr: page.Addr, Bytes: slices.Clone(page.Bytes)}
		for j := range copied[i].Bytes {
			all = append(all, &copied[i].Bytes[j])
		}
	}
	for ; len(damage) >= 3 && len(all) > 0; damage = damage[3:] {
		at := (int(damage[0])<<8 | int(damage[1])) % len(all)
		if at%2 == 0 {
			*all[at] ^= damage[2]
			continue
		}
		from := int(damage[2]) * 8
		for i := range 8 {
			if at&^7+i < len(all) && from+i < len(all) {
				*all[at&^7+i] = *all[from+i]
			}
		}
	}
	return copied
}

// Counter is a memory that counts how often it is read.
type Counter struct {
	interp.Memory
	Reads int
}

// Read implements interp.Memory.
func (c *Counter) Read(addr uint64, b []byte) bool {
	c.Reads++
	return c.Memory.Read(addr, b)
}

// Longest returns the length in bytes of the longest name among frames: function and file.
func Longest(frames []interp.Frame) int {
	longest := slices.MaxFunc(append(frames, interp.Frame{}), func(a, b interp.Frame) int {
		return cmp.Compare(len(a.Function)+len(a.File), len(b.Function)+len(b.File))
	})
	return len(longest.Function) + len(longest.File)
}
