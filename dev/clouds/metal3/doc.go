// Package metal3 plays the cluster that Metal3's hosts are objects of: an API server with BareMetalHosts and secrets, and what the operator
// of bare metal does with them, as far as machines need it (package host). No hardware is anywhere.
//
// It judges hosts with the types of Metal3 and refuses fields that these do not have, which an API server would drop.
package metal3
