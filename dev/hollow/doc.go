// Package hollow is a node that is real to the control plane and cheap: the kubelet's own code (TLS
// bootstrap, client and serving certificates with rotation, authentication, leases, status, pod admission and
// eviction) over a fake container runtime, mounter and machine.
//
// A hollow node runs as any user, on loopback, changes no firewall, makes no DNS query for its own name and
// writes only below its root folder. One process is one node, because the kubelet registers process-wide
// metrics.
package hollow
