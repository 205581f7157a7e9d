// Package orphan removes instances without a machine, and releases nodes without a machine.
//
// The [Collector] lists the instances of every scope (account, cluster, region) once for all classes and
// both API groups. It then reads all machines from the API server, past any cache and in that order, and
// lets package internal/engine/orphan decide. It draws no conclusion from an incomplete listing, of
// instances or of machines: if the API server does not answer, everything stays as it is. Between listings
// the state is only in memory; after a restart quarantines begin again.
//
// It removes only instances that this control plane has created, and none whose node is ready, unless a
// user names the instance. It drains the node before the removal.
//
// [Nodes] marks nodes that have no machine.
package orphan
