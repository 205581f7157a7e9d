// Package remote carries the provider contract over gRPC, so that a provider may be a process of its own,
// in any language: a sidecar at a unix socket, or a service behind mutual TLS.
//
// [Dial] returns a [provider.Provider] for the process that listens there; a [Server] serves a provider in
// Go. The messages are in wire/provider.proto, and docs/providers/remote.md is for developers of the other
// side in another language.
//
// The package does not trust the other side. A call whose reply does not arrive, is cut off, is too large
// or makes no sense is an error with an unknown outcome ([provider.Transient]), and nothing else: an empty
// answer counts only if it declares that it is complete. Answers about a machine that name other machines
// are refused. Methods without a context answer from data that came with the opening of the
// [provider.Session], or have a short deadline and a harmless default.
package remote
