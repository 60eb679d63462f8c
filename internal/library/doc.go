// Package library finds the file that the target of a user probe means.
package library
