// Package wire is the provider contract as messages: provider.proto, and the code generated from it.
package wire

//go:generate sh -c "cd .. && go run ./internal/generate"
