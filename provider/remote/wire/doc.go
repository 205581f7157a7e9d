// Package wire is the provider contract as messages: provider.proto, and what is generated from it.
package wire

//go:generate sh -c "cd .. && go run ./internal/generate"
