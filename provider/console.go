package provider

import "context"

// ConsoleReader is a Session that can show what an instance wrote to its
// console: often the only word of a machine that did not join.
type ConsoleReader interface {
	// Console returns the end of the console's output, at most limit bytes of
	// it; empty when there is none yet. It makes a single cheap call and changes
	// nothing. The engine takes out secrets before it keeps any of it.
	Console(ctx context.Context, ref Ref, i Instance, limit int) (string, error)
}
