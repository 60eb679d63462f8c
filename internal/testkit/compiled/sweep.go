package compiled

import (
	"io/fs"
	"os"
	"path/filepath"
	"slices"
	"time"

	"golang.org/x/sys/unix"
)

// bounds limit what the cache keeps.
type bounds struct {
	every time.Duration // how often the cache is swept
	age   time.Duration // entries that were not used for longer are removed
	bytes int64         // if the cache is larger, the entries that were unused longest are removed,
	young time.Duration // except those used within this time: a test may still run them
}

var limits = bounds{every: 24 * time.Hour, age: 30 * 24 * time.Hour, bytes: 2 << 30, young: 24 * time.Hour}

// entry is a directory of the cache.
type entry struct {
	dir   string
	used  time.Time
	bytes int64
}

// sweep removes entries that exceed the bounds, unless the last sweep was less than b.every
// ago. It ignores errors.
func sweep(root string, b bounds) {
	now := time.Now()
	last := filepath.Join(root, "swept")
	if info, err := os.Stat(last); err == nil && now.Sub(info.ModTime()) < b.every {
		return
	}
	if os.WriteFile(last, nil, 0o644) != nil || os.Chtimes(last, now, now) != nil {
		return
	}
	entries, total := readEntries(root)
	slices.SortFunc(entries, func(a, b entry) int { return a.used.Compare(b.used) })
	for _, e := range entries {
		unused := now.Sub(e.used)
		if unused > b.age || total > b.bytes && unused > b.young {
			e.remove()
			total -= e.bytes
		}
	}
}

func readEntries(root string) (entries []entry, total int64) {
	dirs, _ := os.ReadDir(root)
	for _, d := range dirs {
		if !d.IsDir() {
			continue
		}
		e := entry{dir: filepath.Join(root, d.Name())}
		e.used = e.lastUse()
		_ = filepath.WalkDir(e.dir, func(_ string, d fs.DirEntry, err error) error {
			if err != nil || d.IsDir() {
				return nil
			}
			if info, err := d.Info(); err == nil {
				e.bytes += info.Size()
			}
			return nil
		})
		entries = append(entries, e)
		total += e.bytes
	}
	return entries, total
}

// lastUse returns when a test last used the entry. For an unfinished entry, it is when the
// directory last changed.
func (e entry) lastUse() time.Time {
	for _, path := range []string{filepath.Join(e.dir, marker), e.dir} {
		if info, err := os.Stat(path); err == nil {
			return info.ModTime()
		}
	}
	return time.Time{}
}

// remove removes the entry, unless a test is making it or has used it since lastUse was read.
func (e entry) remove() {
	f, err := os.Open(e.dir)
	if err != nil {
		return
	}
	defer f.Close()
	if unix.Flock(int(f.Fd()), unix.LOCK_EX|unix.LOCK_NB) == nil && stillAt(f, e.dir) && e.lastUse().Equal(e.used) {
		_ = os.RemoveAll(e.dir)
	}
}
