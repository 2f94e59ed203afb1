//go:build !race

package attack

// Raced is true where the race detector takes memory of its own.
const Raced = false
