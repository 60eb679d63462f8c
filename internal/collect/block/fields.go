package block

import (
	"fmt"
	"os"
	"path/filepath"
	"strings"

	"github.com/ringtap/ringtap/ftrace"
	"github.com/ringtap/ringtap/internal/collect/pages"
)

// blockFields are the fields of the block tracepoints.
type blockFields struct {
	device, sector, count, rwbs *ftrace.Field
	error                       *ftrace.Field // nil if the tracepoint is not about completions
}

func (f *blockFields) find(format *ftrace.Format) error {
	f.error = format.Field("error")
	for name, into := range map[string]**ftrace.Field{"dev": &f.device, "sector": &f.sector, "nr_sector": &f.count, "rwbs": &f.rwbs} {
		if *into = format.Field(name); *into == nil {
			return fmt.Errorf("this kernel's %s:%s has no field %s", format.System, format.Name, name)
		}
	}
	return nil
}

// operation is the block operation of a record.
type operation struct {
	at      pages.Page // device and first sector; the Inode is the letter of the operation
	sectors uint64
	flush   bool // the device's cache must be flushed first
	failed  bool
}

func (o *operation) device() uint64 { return o.at.Device }

// kind returns a word for the operation.
func (o *operation) kind() string {
	switch o.at.Inode {
	case 'R':
		return "read"
	case 'W':
		return "write"
	case 'D':
		return "discard"
	case 'F':
		return "flush"
	case 'Z':
		return "zone"
	}
	return "other"
}

// read parses a record. A partition is replaced by its disk, because requests name the disk.
func (f *blockFields) read(raw []byte, devices *devices) (operation, bool) {
	device, ok1 := f.device.Uint(raw)
	first, ok2 := f.sector.Uint(raw)
	sectors, ok3 := f.count.Uint(raw)
	o := operation{sectors: sectors}
	letters := f.rwbs.Text(raw)
	// The letters come from blk_fill_rwbs in kernel/trace/blktrace.c: a flush first, then the
	// operation, then flags.
	if rest, ok := strings.CutPrefix(letters, "F"); ok && rest != "" && strings.ContainsAny(rest[:1], "RWDFZN") {
		o.flush, letters = true, rest
	}
	if letters != "" {
		o.at.Inode = uint64(letters[0])
	}
	o.at.Device, o.at.Index = devices.disk(device), first
	if f.error != nil {
		code, _ := f.error.Int(raw)
		o.failed = code != 0
	}
	return o, ok1 && ok2 && ok3 && letters != ""
}

// devices finds the names of block devices, and the disks of partitions.
type devices struct {
	sys   string // the root of sysfs
	disks map[uint64]uint64
	names map[uint64]string
}

func newDevices(sys string) *devices {
	return &devices{sys: sys, disks: make(map[uint64]uint64), names: make(map[uint64]string)}
}

// These decode the kernel's internal dev_t (include/linux/kdev_t.h).
func majorOf(device uint64) uint64 { return device >> 20 }
func minorOf(device uint64) uint64 { return device & (1<<20 - 1) }

func (d *devices) path(device uint64) string {
	return filepath.Join(d.sys, "dev/block", fmt.Sprintf("%d:%d", majorOf(device), minorOf(device)))
}

// disk returns the disk of a partition, or device itself if it is not a partition.
func (d *devices) disk(device uint64) uint64 {
	if disk, ok := d.disks[device]; ok {
		return disk
	}
	disk := device
	if _, err := os.Stat(filepath.Join(d.path(device), "partition")); err == nil {
		var major, minor uint64
		// Not Join, because .. must be resolved after the symbolic link.
		if text, err := os.ReadFile(d.path(device) + "/../dev"); err == nil {
			if _, err := fmt.Sscanf(string(text), "%d:%d", &major, &minor); err == nil {
				disk = major<<20 | minor
			}
		}
	}
	d.disks[device] = disk
	return disk
}

// name returns the name of a device, or its numbers if it has none.
func (d *devices) name(device uint64) string {
	if name, ok := d.names[device]; ok {
		return name
	}
	name := fmt.Sprintf("%d:%d", majorOf(device), minorOf(device))
	if link, err := os.Readlink(d.path(device)); err == nil {
		name = filepath.Base(link)
	}
	d.names[device] = name
	return name
}
