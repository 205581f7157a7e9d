// Package metal3 simulates a cluster with Metal3's hosts: an API server with BareMetalHosts and secrets, and the work of the
// baremetal-operator on them, as far as machines need it (package host). There is no
// hardware.
//
// It validates hosts with the types of Metal3, and refuses unknown fields, which an API server would drop.
package metal3
