package main

import (
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"time"
)

// openPort opens the virtio port with this name.
func openPort(name string) (*os.File, error) {
	for range 200 { // the driver makes ports one by one
		entries, err := filepath.Glob("/sys/class/virtio-ports/*/name")
		if err != nil {
			return nil, err
		}
		for _, entry := range entries {
			text, _ := os.ReadFile(entry)
			if strings.TrimSpace(string(text)) == name {
				return os.OpenFile("/dev/"+filepath.Base(filepath.Dir(entry)), os.O_RDWR, 0)
			}
		}
		time.Sleep(10 * time.Millisecond)
	}
	return nil, fmt.Errorf("there is no virtio port named %s", name)
}
