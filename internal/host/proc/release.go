package proc

import "fmt"

// Release is a version of Linux: 6.18 is {6, 18}.
type Release struct{ Major, Minor int }

// Release returns the kernel's version, as uname(2) does.
func (fs FS) Release() (Release, error) {
	text, err := fs.Sysctl("kernel/osrelease")
	if err != nil {
		return Release{}, err
	}
	return parseRelease(text)
}

// parseRelease parses the start of uname -r's output: "6.1.0-50-cloud-amd64".
func parseRelease(text string) (r Release, err error) {
	if _, err := fmt.Sscanf(text, "%d.%d", &r.Major, &r.Minor); err != nil {
		return Release{}, fmt.Errorf("the kernel's release %q: %w", text, err)
	}
	return r, nil
}

// Since reports whether r is that version or a later one.
func (r Release) Since(major, minor int) bool {
	return r.Major > major || r.Major == major && r.Minor >= minor
}
