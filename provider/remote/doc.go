// Package remote carries the provider contract over gRPC, so that a provider may be a process of its own, in any language:
// a sidecar at a unix socket, or a service behind mutual TLS.
//
// [Dial] makes a [provider.Provider] of what listens there; a [Server] serves one that is written in Go. What goes over the wire is
// in wire/provider.proto, and docs/providers/remote.md is for those who write the other side in another language.
//
// The other side is not trusted to work. A call whose reply does not come, is cut off, is too large or makes no sense is an error
// with an unknown outcome ([provider.Transient]), and nothing else: an empty answer counts only where it says of itself that it is
// complete. Answers about a machine that name other machines are refused. What the engine asks without a context is data that
// came with [provider.Session]'s opening, or has a short deadline and a harmless stand-in.
package remote
