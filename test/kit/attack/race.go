//go:build race

package attack

// Raced is true where the race detector takes memory of its own, several times that of the program: what measures memory measures
// nothing then.
const Raced = true
