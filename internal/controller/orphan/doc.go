// Package orphan removes instances without a machine, and lets go of nodes
// without one.
//
// The [Collector] lists the instances of every scope (account, cluster, region)
// once for all classes and both API groups, then reads all machines from the
// API server, past any cache and in that order, and lets package internal/engine/orphan
// decide. Nothing is concluded from a listing, of instances or of machines, that
// did not come to its end: an API server that does not answer keeps everything
// as it is. What is remembered between listings is in memory only; after a
// restart quarantines begin anew.
//
// Only what this control plane has made is removed, and not while its node is
// ready, unless somebody names it. The node is drained before it goes.
//
// [Nodes] marks nodes that have no machine.
package orphan
