// Package kit has what providers share: caches of clients, of answers and of decoded specs, reads that
// concurrent callers share, and the strict decoding of specs. No provider has to use it.
package kit
