// Package hollow is a node that is real to the control plane and costs almost nothing: the kubelet's own code (TLS
// bootstrap, client and serving certificates with rotation, authentication, leases, status, pod admission and eviction)
// over a container runtime, a mounter and a machine that are fakes.
//
// A hollow node runs as any user, on loopback, edits no firewall, asks no name server for its own name and writes only
// below its root folder. One process is one node, because the kubelet registers process-wide metrics.
package hollow
