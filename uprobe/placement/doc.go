// Package placement decides where in a function a user probe is cheap and right.
package placement
