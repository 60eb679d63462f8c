package symbols

import (
	"encoding/hex"

	"github.com/ringtap/ringtap/internal/object/buildid"
)

// BuildID returns the GNU build id in lower-case hexadecimal, as `readelf -n` prints it, or ""
// if the file has none. It reads the notes at each call.
func (f *File) BuildID() string {
	return hex.EncodeToString(buildid.OfImage(f.image))
}
