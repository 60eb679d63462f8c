package pace

import "time"

// End is when a test gives up waiting for what has to come, on a busy machine or an
// emulated one too. It is well within the ten minutes that a package may take.
const End = 3 * time.Minute
