// Package kit is what providers share to be written with: caches of clients, of answers and of decoded specs, reads that callers who
// look at the same time share, and the strict decoding of specs. No provider has to use it.
package kit
