package dwarfline

import (
	"fmt"

	"github.com/ringtap/ringtap/internal/object/bytecursor"
)

// form is how an attribute's value is encoded (DWARF 5 section 7.5.6).
type form uint16

const (
	formAddr          form = 0x01
	formBlock2        form = 0x03
	formBlock4        form = 0x04
	formData2         form = 0x05
	formData4         form = 0x06
	formData8         form = 0x07
	formString        form = 0x08
	formBlock         form = 0x09
	formBlock1        form = 0x0a
	formData1         form = 0x0b
	formFlag          form = 0x0c
	formSdata         form = 0x0d
	formStrp          form = 0x0e
	formUdata         form = 0x0f
	formRefAddr       form = 0x10
	formRef1          form = 0x11
	formRef2          form = 0x12
	formRef4          form = 0x13
	formRef8          form = 0x14
	formRefUdata      form = 0x15
	formIndirect      form = 0x16
	formSecOffset     form = 0x17
	formExprloc       form = 0x18
	formFlagPresent   form = 0x19
	formStrx          form = 0x1a
	formAddrx         form = 0x1b
	formRefSup4       form = 0x1c
	formStrpSup       form = 0x1d
	formData16        form = 0x1e
	formLineStrp      form = 0x1f
	formRefSig8       form = 0x20
	formImplicitConst form = 0x21
	formLoclistx      form = 0x22
	formRnglistx      form = 0x23
	formRefSup8       form = 0x24
	formStrx1         form = 0x25
	formStrx2         form = 0x26
	formStrx3         form = 0x27
	formStrx4         form = 0x28
	formAddrx1        form = 0x29
	formAddrx2        form = 0x2a
	formAddrx3        form = 0x2b
	formAddrx4        form = 0x2c
	formGNUAddrIndex  form = 0x1f01 // DWARF 4 split units
	formGNUStrIndex   form = 0x1f02
	formGNURefAlt     form = 0x1f20 // into dwz's shared file
	formGNUStrpAlt    form = 0x1f21
)

// encoding has the properties of a unit that decide the sizes of forms.
type encoding struct {
	version    uint16
	addrSize   uint8
	offsetSize uint8
}

// value is an attribute's value as it is in the section: a number, interpreted by form, or the
// bytes of a string or block, not copied.
type value struct {
	form form
	num  uint64
	str  []byte
}

// fixed returns the size in bytes of a value of form f, or -1 if the size varies.
func (e encoding) fixed(f form) int {
	switch f {
	case formFlagPresent, formImplicitConst:
		return 0
	case formData1, formRef1, formFlag, formStrx1, formAddrx1:
		return 1
	case formData2, formRef2, formStrx2, formAddrx2:
		return 2
	case formStrx3, formAddrx3:
		return 3
	case formData4, formRef4, formRefSup4, formStrx4, formAddrx4:
		return 4
	case formData8, formRef8, formRefSig8, formRefSup8:
		return 8
	case formData16:
		return 16
	case formAddr:
		return int(e.addrSize)
	case formRefAddr:
		if e.version == 2 {
			return int(e.addrSize)
		}
		return int(e.offsetSize)
	case formStrp, formLineStrp, formSecOffset, formStrpSup, formGNURefAlt, formGNUStrpAlt:
		return int(e.offsetSize)
	}
	return -1
}

// read reads a value of form f. f must not be formImplicitConst, whose value is in the
// abbreviation.
func (e encoding) read(c *bytecursor.Cursor, f form) value {
	if f == formIndirect {
		f = form(c.ULEB())
		if f == formIndirect || f == formImplicitConst {
			c.Fail(fmt.Errorf("indirect form %#x", f))
			return value{}
		}
	}
	v := value{form: f}
	if n := e.fixed(f); n >= 0 {
		switch n {
		case 0:
			v.num = 1
		case 16:
			c.Skip(16)
		default:
			v.num = c.Uint(n)
		}
		return v
	}
	switch f {
	case formUdata, formRefUdata, formStrx, formAddrx, formLoclistx, formRnglistx, formGNUAddrIndex, formGNUStrIndex:
		v.num = c.ULEB()
	case formSdata:
		v.num = uint64(c.SLEB())
	case formString:
		v.str = c.CString()
	case formBlock1:
		v.str = c.Bytes(uint64(c.U8()))
	case formBlock2:
		v.str = c.Bytes(uint64(c.U16()))
	case formBlock4:
		v.str = c.Bytes(uint64(c.U32()))
	case formBlock, formExprloc:
		v.str = c.Bytes(c.ULEB())
	default:
		c.Fail(fmt.Errorf("unknown form %#x", uint16(f)))
	}
	return v
}
