package proc

import "strings"

// Mount is a mounted file system, as this process sees it (proc_pid_mounts(5)).
type Mount struct {
	Path    string // its mount point
	Type    string // "cgroup2"
	Options []string
}

// Mounts returns the mounted file systems.
func (fs FS) Mounts() ([]Mount, error) {
	text, err := fs.ReadFile("self/mounts")
	return parseMounts(string(text)), err
}

func parseMounts(text string) (mounts []Mount) {
	unescape := strings.NewReplacer(`\040`, " ", `\011`, "\t", `\012`, "\n", `\134`, `\`) // getmntent(3)
	for line := range strings.Lines(text) {
		if fields := strings.Fields(line); len(fields) >= 4 {
			mounts = append(mounts, Mount{unescape.Replace(fields[1]), fields[2], strings.Split(fields[3], ",")})
		}
	}
	return mounts
}
