//go:build race

package engine_test

// raced is true where the race detector takes memory of its own, several times that of the program.
const raced = true
