// Package bench measures the controllers on the development control plane, with
// nodes simulated by kwok. It compares them to the raw ceiling: the time in which a
// client without any controller does the writes that every implementation needs, on
// the same control plane. A rolling update is compared to a client that replaces
// machines in waves, within the same bounds. A creation is compared to a client whose
// nodes join while it writes, as the controllers' nodes do; that client takes one turn
// before the controllers and one after them. The costs of nodes' heartbeats and of
// blocked drains are measured in turns with and without them.
//
// Whatever possible is read afterwards from the API server's audit log, so that
// observation costs nothing while the clock runs.
package bench
