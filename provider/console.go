package provider

import "context"

// ConsoleReader is a Session that can show an instance's console output: often the only information about a
// machine that did not join.
type ConsoleReader interface {
	// Console returns the end of the console's output, at most limit bytes; empty if there is no output
	// yet. It makes one cheap call and changes nothing. The engine removes secrets before it stores any of
	// it.
	Console(ctx context.Context, ref Ref, i Instance, limit int) (string, error)
}
