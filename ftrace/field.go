package ftrace

// Location says where the bytes of a field are.
type Location uint8

const (
	Inline  Location = iota // at the field's offset
	DataLoc                 // __data_loc: offset and length in the record are in the field
	RelLoc                  // __rel_loc: the same, with the offset counted from the field's end
)

// Field is one field of an event's records.
type Field struct {
	Name     string
	Type     string // as in C, without the array's length: "char", "__data_loc char[]"
	Offset   int    // in the record, bytes
	Size     int    // bytes at Offset; 4 for __data_loc and __rel_loc
	Signed   bool   // integers, or the elements of an array
	Common   bool   // common_type and its like, which every event has
	Location Location
	Array    bool
	Length   int  // elements of an array that has a fixed number of them
	ElemSize int  // bytes of one element of an array; Size where there is none
	String   bool // text that ends with a zero byte or the field's end
}

// Uint returns the integer or pointer in the field, or the first element of an
// array; false if the record is too short or the field holds no integer.
func (f *Field) Uint(raw []byte) (uint64, bool) { return 0, false }

// Int is Uint for signed fields: the value is extended by its sign if the
// field's type is signed.
func (f *Field) Int(raw []byte) (int64, bool) { return 0, false }

// Bytes returns the field's bytes as they lie in raw, of a string those before
// the first zero; false if the record is too short. They belong to raw.
func (f *Field) Bytes(raw []byte) ([]byte, bool) { return nil, false }

// Text returns the field's value for people; "" if the record is too short.
func (f *Field) Text(raw []byte) string { return "" }
