package uprobe

import "errors"

// Parse reads a definition. The error is a *ftrace.SyntaxError.
func Parse(text string) (*Definition, error) { return nil, errors.ErrUnsupported }
