package main

import (
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strings"
)

// blockDevices has a folder for each block device (Documentation/ABI/stable/sysfs-block).
const blockDevices = "/sys/class/block"

// blockDevice returns the number MAJOR,MINOR of the disk that text names. text is that number, as
// perf-tools takes it, or the disk's name, as bcc takes it. dir has a folder for each disk and
// partition: see blockDevices. The error lists the disks that are not empty.
func blockDevice(dir, text string) (number string, err error) {
	folders, err := os.ReadDir(dir)
	if err != nil {
		return "", fmt.Errorf("find the block device %q: %w", text, err)
	}
	name := strings.ReplaceAll(strings.TrimPrefix(text, "/dev/"), "/", "!")
	var disks []string
	for _, folder := range folders {
		read := func(file string) string {
			text, _ := os.ReadFile(filepath.Join(dir, folder.Name(), file))
			return strings.TrimSpace(string(text))
		}
		number := strings.ReplaceAll(read("dev"), ":", ",")
		isNamed := number != "" && (folder.Name() == name || number == text)
		switch isPartition := read("partition") != ""; {
		case isNamed && isPartition:
			return "", fmt.Errorf("%q is a partition: requests have the number of its disk", text)
		case isNamed:
			return number, nil
		case !isPartition && !slices.Contains([]string{"", "0"}, read("size")):
			disks = append(disks, fmt.Sprintf("%s (%s)", folder.Name(), number))
		}
	}
	if len(disks) == 0 {
		disks = []string{"none"}
	}
	return "", fmt.Errorf("%q is neither the name nor the number MAJOR,MINOR of a block device; there are %s", text, strings.Join(disks, ", "))
}
