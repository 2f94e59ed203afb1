package herdr

import "time"

func init() { quiet, held = 2*time.Second, 30*time.Second }
