// Package bench measures the controllers on the development control plane,
// with nodes simulated by kwok, against the raw ceiling: the time that a client
// without any controller takes, on the same control plane, for the writes that
// every implementation needs. A rolling update is measured against a client that
// replaces machines in waves, within the same bounds. A creation counts against a
// client whose nodes join while it writes, as those of the controllers do; it takes a
// turn before them and one after. What heartbeats of nodes
// and drains that are blocked cost is measured in turns with and without them.
//
// Everything that can be is read afterwards from the API server's audit log,
// so that watching costs nothing while the clock runs.
package bench
