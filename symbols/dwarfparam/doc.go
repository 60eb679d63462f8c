// Package dwarfparam finds the parameters of a function: their names, their
// types as the source wrote them, and where their values are before the first
// instruction of the function runs.
package dwarfparam
