// Package metal3 simulates the cluster with Metal3's hosts: an API server with BareMetalHosts and secrets,
// and what the baremetal-operator does with them, as far as machines need it (package host). There is no
// hardware.
//
// It validates hosts with the types of Metal3, and refuses unknown fields, which an API server would drop.
package metal3
