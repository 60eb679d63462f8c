// Package symbols gives code its names.
package symbols
