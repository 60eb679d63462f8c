package usdt

import (
	"fmt"
	"iter"
	"strings"

	"github.com/ringtap/ringtap/internal/object/elfimage"
)

// The format of notes in the gABI (chapter 5, Note Section): three words, the name and the
// descriptor, both padded to a word.
const (
	noteHeader = 12
	noteOwner  = "stapsdt\x00"
	noteProbe  = 3 // _SDT_NOTE_TYPE
)

// note is one probe as in the file, with link-time addresses.
type note struct {
	location, base, semaphore uint64
	provider, name, args      string
}

// notes yields the probes among the notes in b, and an error for each that can't be read. The
// strings are parts of one copy of b.
func notes(img *elfimage.Image, b []byte) iter.Seq2[note, error] {
	return func(yield func(note, error) bool) {
		text := string(b)
		for at := uint64(0); at < uint64(len(text)); {
			if uint64(len(text))-at < noteHeader {
				yield(note{}, fmt.Errorf("%w: %d bytes are left over", ErrMalformed, uint64(len(text))-at))
				return
			}
			nameSize := uint64(img.Order.Uint32(b[at:]))
			descSize := uint64(img.Order.Uint32(b[at+4:]))
			kind := img.Order.Uint32(b[at+8:])
			name := at + noteHeader
			desc := name + padded(nameSize)
			end := desc + descSize
			if end > uint64(len(text)) {
				yield(note{}, fmt.Errorf("%w: a note of %d bytes at %d of %d", ErrMalformed, end-at, at, len(text)))
				return
			}
			if kind == noteProbe && text[name:name+nameSize] == noteOwner {
				if !yield(descriptor(img, b[desc:end], text[desc:end])) {
					return
				}
			}
			at = desc + padded(descSize)
		}
	}
}

func padded(size uint64) uint64 { return (size + 3) &^ 3 }

// descriptor parses three addresses and three strings.
func descriptor(img *elfimage.Image, b []byte, text string) (n note, err error) {
	word := img.WordSize()
	if uint64(len(b)) < 3*word {
		return n, fmt.Errorf("%w: a descriptor of %d bytes", ErrMalformed, len(b))
	}
	n.location, n.base, n.semaphore = img.Word(b), img.Word(b[word:]), img.Word(b[2*word:])
	text = text[3*word:]
	for _, s := range []*string{&n.provider, &n.name, &n.args} {
		var ok bool
		if *s, text, ok = strings.Cut(text, "\x00"); !ok {
			return n, fmt.Errorf("%w: a string without an end", ErrMalformed)
		}
	}
	if !identifier(n.provider) || !identifier(n.name) {
		return n, fmt.Errorf("%w: a probe of the name %.80q:%.80q", ErrMalformed, n.provider, n.name)
	}
	return n, nil
}
